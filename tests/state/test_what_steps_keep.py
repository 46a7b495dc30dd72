"""Wherever a step keeps its count, the next run begins with the same one, and the user finds it as it was."""

from __future__ import annotations

import array
import contextvars
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.programs.start import CannotStartAgain, Start

Step = Callable[[], Any]
_AMOUNT = contextvars.ContextVar("_AMOUNT", default=0)


def in_a_partial() -> Step:
    def step(counts: dict[str, int], *, seen: list[int]) -> Any:
        counts["calls"] += 1
        seen.append(1)
        return counts["calls"], len(seen)

    return functools.partial(step, {"calls": 0}, seen=[])


def in_a_partial_of_an_iterator() -> Step:
    return functools.partial(next, itertools.count())


class Keeps:
    calls = 0
    seen: list[int] = []  # noqa: RUF012 - as people write it

    def __init__(self) -> None:
        self.own = 0

    def __call__(self) -> Any:
        self._note()
        return Keeps.calls, len(self.seen), self.own

    def _note(self) -> None:
        self.own += 1
        Keeps.calls += 1
        Keeps.seen.append(1)
        Keeps.last = getattr(Keeps, "last", 0) + 1  # type: ignore[attr-defined]

    def method(self) -> Any:
        return self(), Keeps.last  # type: ignore[attr-defined]


def in_a_callable() -> Step:
    return Keeps()


def in_a_bound_method() -> Step:
    return Keeps().method


def in_a_class_it_names() -> Step:
    def step() -> Any:
        Keeps.calls += 1
        Keeps.seen.append(1)
        return Keeps.calls, len(Keeps.seen)

    return step


def in_a_method_of_a_list() -> Step:
    numbers: list[int] = [1]
    add, last = numbers.append, numbers.__len__

    def step() -> Any:
        add(1)
        return last()

    return step


def in_an_attribute_of_the_function() -> Step:
    def step() -> Any:
        step.calls = getattr(step, "calls", 0) + 1  # type: ignore[attr-defined]
        return step.calls  # type: ignore[attr-defined]

    return step


def reading(iterator: Any) -> Callable[[], Step]:
    def factory() -> Step:
        source = iterator()
        return lambda: next(source)

    return factory


def in_the_default_of_a_dict() -> Step:
    ids: Any = defaultdict(itertools.count().__next__)
    words = itertools.count(100)

    def step() -> Any:
        return ids[next(words)]

    return step


def until_it_ends() -> Step:
    rest = iter([1, 2])

    def step() -> Any:
        return next(rest, "over")

    return step


def in_a_default() -> Step:
    def step(ids: Any = itertools.count(), *, more: Any = itertools.cycle("abcde")) -> Any:  # noqa: B008
        return next(ids), next(more)

    return step


def in_an_array() -> Step:
    numbers = array.array("i", [0])

    def step() -> Any:
        numbers[0] += 1
        numbers.append(1)
        return numbers[0], len(numbers)

    return step


class Config(dict):  # type: ignore[type-arg]
    pass


def in_the_attribute_of_a_dict() -> Step:
    config = Config()

    def step() -> Any:
        config.calls = getattr(config, "calls", 0) + 1  # type: ignore[attr-defined]
        return config.calls  # type: ignore[attr-defined]

    return step


def in_a_name_it_binds_first() -> Step:
    def step() -> Any:
        global _bound_by_the_step
        _bound_by_the_step = globals().get("_bound_by_the_step", 0) + 1
        return _bound_by_the_step

    return step


def in_a_closure_it_binds_first() -> Step:
    def step() -> Any:
        nonlocal calls
        try:
            calls += 1
        except NameError:
            calls = 1
        return calls

    calls: int
    if not step:
        calls = 0
    return step


def in_a_cache() -> Step:
    made = [0]

    @functools.lru_cache
    def once() -> int:
        return len(made)

    def step() -> Any:
        once()
        return once.cache_info().hits

    return step


def in_a_context_variable() -> Step:
    def step() -> Any:
        _AMOUNT.set(_AMOUNT.get() + 1)
        return _AMOUNT.get()

    return step


class Slotted:
    __slots__ = ("calls",)


def in_a_slot_it_sets_first() -> Step:
    slotted = Slotted()

    def step() -> Any:
        slotted.calls = getattr(slotted, "calls", 0) + 1
        return slotted.calls

    return step


MAKERS = [
    in_a_partial, in_a_partial_of_an_iterator, in_a_callable, in_a_bound_method, in_a_class_it_names,
    in_a_method_of_a_list, in_a_slot_it_sets_first, in_a_default,
    in_an_attribute_of_the_function, in_the_default_of_a_dict, until_it_ends, in_an_array, in_the_attribute_of_a_dict,
    in_a_name_it_binds_first, in_a_closure_it_binds_first, in_a_cache, in_a_context_variable,
]  # fmt: skip
ITERATORS: dict[str, Any] = {
    "count": lambda: itertools.count(3),
    "count by floats": lambda: itertools.count(0.5, 0.25),
    "cycle": lambda: itertools.cycle([1, 2, 3, 4, 5, 6]),
    "enumerate": lambda: enumerate("abcdefgh"),
    "zip": lambda: zip(range(9), "abcdefghi", strict=True),
    "map": lambda: map(str, range(9)),
    "keys": lambda: iter(dict.fromkeys("abcdefgh")),
    "items": lambda: iter({letter: 1 for letter in "abcdefgh"}.items()),
    "set": lambda: iter({1, 2, 3, 4, 5}),
    "chain": lambda: itertools.chain([1, 2], [3, 4, 5]),
    "nested": lambda: enumerate(zip(itertools.count(), itertools.cycle("abc"), strict=False)),
}


def start_of(step: Step) -> Start:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return Start(Training(model, optimizer, loss=_Loss(step), data=torch.ones(3, 2)), seed=0)


class _Loss:
    def __init__(self, step: Step) -> None:
        self.step = step

    def __call__(self, model: nn.Module, batch: Any) -> Any:
        return self.step()


@pytest.mark.parametrize(
    "make", [*MAKERS, *(reading(each) for each in ITERATORS.values())],
    ids=[*(make.__name__ for make in MAKERS), *ITERATORS],
)  # fmt: skip
def test_every_run_begins_where_the_first_did(make: Callable[[], Step]) -> None:
    start = start_of(make())
    runs = []
    for _ in range(3):
        take = start.begin().loss
        assert take is not None
        runs.append([take(None, None) for _ in range(3)])
        assert start.repeatable, start.why_not
    assert start.close() == []
    fresh = start.training.loss
    assert fresh is not None
    runs.append([fresh(None, None) for _ in range(3)])  # what the user finds afterwards
    start.close()
    assert runs[0] != [runs[0][0]] * 3 or make is in_a_cache
    assert runs[1:] == runs[:1] * 3


class Pair(NamedTuple):
    ids: Iterator[int]
    words: str


def test_an_iterator_that_nothing_can_be_exchanged_for_is_named() -> None:
    pair = Pair(itertools.count(), "ids")

    def step() -> Any:
        return next(pair.ids)

    start = start_of(step)
    start.begin()
    assert start.why_not.startswith("cannot start again: `step.pair[0]` is an `itertools.count`")
    with pytest.raises(CannotStartAgain, match="Hand in a function that builds the training"):
        start.begin()


def test_a_generator_that_nobody_reads_is_in_nobodys_way() -> None:
    source = (each for each in range(3))
    read = [False]

    def step() -> Any:
        return next(source) if read[0] else 0

    start = start_of(step)
    start.begin()
    assert start.repeatable
    start.begin()
    read[0] = True
    assert step() == 0
    assert not start.repeatable
    assert start.close() == ["`step.source` is the generator <genexpr>(), which cannot be rewound"]


def test_an_iterator_is_the_users_own_again() -> None:
    source = itertools.count()
    holder = {"ids": source}

    def step() -> Any:
        return next(holder["ids"])

    start = start_of(step)
    assert [start.begin().loss(None, None) for _ in range(2)] == [0, 0]  # type: ignore[misc]
    start.close()
    assert holder["ids"] is source
    assert next(source) == 0


class Counting(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.read, self.order, self.ids = 0, list(range(12)), itertools.count()

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        self.read += 1
        self.order.reverse()
        return torch.full((2,), float(next(self.ids) * 1000 + self.read * 100 + self.order[index]))


class Epochs(Sampler[int]):
    def __init__(self) -> None:
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        return iter([(self.epoch + each) % 12 for each in range(12)])

    def __len__(self) -> int:
        return 12


def test_counters_of_data_sets_and_samplers() -> None:
    data, sampler = Counting(), Epochs()
    model = nn.Linear(2, 1)
    seen: list[float] = []

    def loss(model: nn.Module, batch: Any) -> torch.Tensor:
        noted.put(float(batch.sum()))
        return model(batch).square().mean()  # type: ignore[no-any-return]

    from queue import SimpleQueue

    noted: SimpleQueue[float] = SimpleQueue()
    loader = DataLoader(data, 3, sampler=sampler)
    training = Training(model, torch.optim.SGD(model.parameters(), 1e-3), loss=loss, data=loader)
    for _ in range(2):
        examine(training, Request("trains_without_nan", "counting", 1, {"steps": 6}))
        assert (data.read, data.order, sampler.epoch) == (0, list(range(12)), 0)
    while not noted.empty():
        seen.append(noted.get())
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


def trained_from(source: Any) -> Any:
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    y = torch.randint(0, 3, (16,))

    def step(batch: Any) -> torch.Tensor:
        nonlocal source
        try:
            x = next(source)
        except StopIteration:
            source = iter(loader)
            x = next(source)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y[: len(x)])
        loss.backward()
        optimizer.step()
        return loss

    loader = DataLoader(torch.randn(64, 4), 16, shuffle=True)  # type: ignore[arg-type]
    source = iter(loader) if source is None else source
    return examine(Training(model, optimizer, data=y, step=step), Request("overfits_one_batch", "it", 3, {"steps": 60}))


def test_an_iterator_of_a_loader_made_outside_of_the_step() -> None:
    verdict = trained_from(None)
    assert verdict.failed
    assert verdict.findings


def test_what_cannot_start_again_is_named() -> None:
    verdict = trained_from(torch.randn(16, 4) for _ in range(10_000))
    assert verdict.outcome == "could not judge"
    assert "cannot start again: `step.source` is the generator <genexpr>()" in verdict.reason
    assert any("left changed: `step.source` is the generator" in note for note in verdict.notes)
    verdict = trained_from(map(lambda x: x, (torch.randn(16, 4) for _ in range(10_000))))
    assert verdict.outcome == "could not judge"
    assert "cannot start again: `step.source` is a `map`" in verdict.reason
