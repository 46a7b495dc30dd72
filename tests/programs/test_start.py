"""Every run begins at the same point, whatever the user passes in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.examine.plan_of import threads_of
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.state.snapshot import Snapshot

X, Y = torch.randn(16, 4), torch.randint(0, 3, (16,))


def too_low(model: nn.Module, **more: Any) -> Training:
    """Fails, so that it is run again and again."""
    return Training(model, torch.optim.SGD(model.parameters(), 1e-4), criterion=F.cross_entropy, data=(X, Y), **more)


def overfit(subject: Any) -> Verdict:
    return examine(subject, Request("overfits_one_batch", "again", 3, {"steps": 60}))


def test_a_factory_that_never_gives_the_same_twice() -> None:
    generator = torch.Generator().manual_seed(0)

    def factory() -> Training:
        model = nn.Linear(4, 3)
        with torch.no_grad():
            model.weight.normal_(generator=generator)  # the engine cannot know of it
        return too_low(model)

    verdict = overfit(factory)
    assert verdict.failed
    assert verdict.findings[0].cause == "lr-too-low"
    assert "the factory starts differently each time: re-runs used a snapshot" in verdict.notes


def test_a_step_that_reads_from_a_generator_is_not_run_again() -> None:
    def endless() -> Iterator[torch.Tensor]:
        while True:
            yield torch.randn(16, 4)

    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    source = endless()

    def step(batch: Any) -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(next(source)), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    verdict = overfit(Training(model, optimizer, data=(X, Y), step=step))
    assert verdict.outcome == "could not judge"
    assert "is the generator endless(), which cannot be rewound" in verdict.reason


def test_the_same_step_in_a_factory_is() -> None:
    def factory() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        source = (torch.randn(16, 4) for _ in range(10_000))

        def step(batch: Any) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(next(source)), batch[1])
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, data=(X, Y), step=step)

    verdict = overfit(factory)
    assert verdict.failed
    assert any(f.reruns for f in verdict.findings)


@pytest.mark.parametrize("form", ["loss", "criterion", "output"])
def test_lbfgs_through_every_form_of_ours(form: str) -> None:
    class Carries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
            logits = self.linear(x)
            return logits if y is None else {"loss": F.cross_entropy(logits, y), "logits": logits}

    model = Carries()
    forms: dict[str, dict[str, Any]] = {
        "loss": {"loss": lambda m, b: F.cross_entropy(m(b[0]), b[1]), "data": (X, Y)},
        "criterion": {"criterion": F.cross_entropy, "data": (X, Y)},
        "output": {"data": {"x": X, "y": Y}},
    }
    training = Training(model, torch.optim.LBFGS(model.parameters(), max_iter=4), **forms[form])
    assert examine(training, Request("gradients_flow", "lbfgs", 0, {})).passed


@pytest.mark.parametrize("precision", [torch.float16, torch.float64])
def test_autocast_and_its_loss_scaler(precision: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    if precision == torch.float64:
        training = Training(
            model.double(), torch.optim.Adam(model.parameters()), criterion=F.cross_entropy, data=(X.double(), Y)
        )
    else:
        training = Training(
            model,
            torch.optim.Adam(model.parameters(), 1e-2),
            criterion=F.cross_entropy,
            data=(X, Y),
            precision=precision,
        )
    assert examine(training, Request("trains_without_nan", "half", 0, {})).passed


def test_a_scheduler_warms_up_in_our_loop() -> None:
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 10))
    training = Training(model, optimizer, criterion=F.cross_entropy, data=(X, Y), scheduler=scheduler)
    assert examine(training, Request("gradients_flow", "warm", 0, {})).passed
    assert scheduler.last_epoch == 0


def test_a_snapshot_follows_closures_globals_and_containers() -> None:
    seen: dict[str, Any] = {"losses": [1.0], "names": {"a"}, "nested": {"x": torch.zeros(2)}}
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        seen["losses"].append(2.0)
        seen["names"].add("b")
        seen["nested"]["x"] += 1
        seen["new"] = True
        _GLOBAL["calls"] += 1
        return count

    snapshot = Snapshot([step])
    assert step() == 1
    snapshot.restore()
    assert (count, _GLOBAL) == (0, {"calls": 0})
    assert seen["losses"] == [1.0]
    assert seen["names"] == {"a"}
    assert torch.equal(seen["nested"]["x"], torch.zeros(2))
    assert "new" not in seen
    assert step() == 1  # and again
    snapshot.restore()
    assert count == 0


_GLOBAL = {"calls": 0}


@pytest.mark.parametrize(("asked", "workers", "given"), [(1, 1, 1), (1, 4, 1), (8, 4, 2), (0, 1, 0)])
def test_threads_are_shared_among_workers(asked: int, workers: int, given: int) -> None:
    def threads(asked: int, workers: int, check: str = "gradients_flow") -> int:
        return threads_of(find_check(check), Request(check, "it", 0, {"threads": asked}, workers=workers))

    assert threads(asked, workers) == given
    assert threads(0, 1_000) == 1
    assert threads(asked, workers, "keeps_throughput") == 0  # the speed is that of the user's own number


# -- factories that hand out the same generator every time ---------------------------------------------------


def batches(count: int) -> Iterator[Any]:
    for _ in range(count):
        yield X, Y


def with_data(make: Callable[[], Any]) -> Callable[[], Training]:
    def factory() -> Training:
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        return Training(model, optimizer, criterion=F.cross_entropy, data=make())

    return factory


def reading_in_its_step(make: Callable[[], Iterator[Any]]) -> Callable[[], Training]:
    def factory() -> Training:
        model, source = nn.Linear(4, 3), make()
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)

        def step(batch: Any) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(next(source, batch)[0]), batch[1])
            loss.backward()
            optimizer.step()
            return loss

        return Training(model, optimizer, step=step, data=(X, Y))

    return factory


SHARED = {
    "itself": lambda shared: reading_in_its_step(lambda: shared),
    "in an iterator that is new": lambda shared: reading_in_its_step(lambda: map(tuple, shared)),
}


@pytest.mark.parametrize("made", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("count", [20, 10_000], ids=["that ends", "that goes on"])
def test_a_factory_that_hands_out_the_same_generator(made: Callable[[Any], Any], count: int) -> None:
    verdict = overfit(made(batches(count)))
    assert verdict.outcome == "could not judge"
    assert re.search(r"cannot start again: `step.source` is .*which cannot be rewound|a `map`", verdict.reason)
    assert "The function that builds the training has to make it anew, too" in verdict.reason
    assert any(note.startswith("left changed: `step.source` is ") for note in verdict.notes)


def test_it_is_named_too_after_a_check_that_needs_one_run() -> None:
    shared = batches(10_000)
    verdict = examine(reading_in_its_step(lambda: shared), Request("trains_without_nan", "once", 3, {"sweep": False}))
    assert verdict.outcome == "passed"
    assert verdict.notes == ("left changed: `step.source` is the generator batches(), which cannot be rewound",)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_it_is_named_too_after_an_error(error: type[BaseException]) -> None:
    def raises() -> Iterator[Any]:
        yield X, Y
        raise error

    shared = raises()
    with pytest.raises(error) as raised:
        overfit(reading_in_its_step(lambda: shared))
    assert any("`step.source` is the generator raises(), which cannot be" in note for note in raised.value.__notes__)


def test_a_training_that_is_made_of_the_same_iterator_again_is_not_used() -> None:
    """A `Training` reads its batches from an iterator at once, and the next would get others."""
    shared = map(tuple, batches(10_000))
    verdict = overfit(with_data(lambda: shared))
    assert verdict.findings[0].cause == "lr-too-low"
    assert "the factory reads on in the same iterator: re-runs used a snapshot" in verdict.notes


FRESH = {
    "read by the step": reading_in_its_step(lambda: batches(10_000)),
    "in another iterator": reading_in_its_step(lambda: map(tuple, batches(10_000))),
    "the data": with_data(lambda: batches(10_000)),
}


@pytest.mark.parametrize("factory", FRESH.values(), ids=FRESH)
def test_a_factory_that_makes_its_generators_is_run_again_as_ever(factory: Callable[[], Training]) -> None:
    verdict = overfit(factory)
    assert verdict.findings[0].cause == "lr-too-low"
    assert verdict.notes == ()
