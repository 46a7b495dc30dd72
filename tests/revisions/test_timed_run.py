"""Thousands of steps are timed, and none of them is far from the start."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.revisions import compare as comparison
from pytest_trainhealth.revisions import timed_run
from pytest_trainhealth.revisions.session import Served
from pytest_trainhealth.revisions.timed_run import WARM_UP, LongRun


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_run, "LONGEST", 20)


def training(data: Any, step: Callable[[Any], Any] | None = None, **given: Any) -> Training:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    if "total_steps" in given:
        given = {"scheduler": torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, **given)}
    loss = None if step is not None else lambda model, batch: model(batch).square().mean()
    return Training(model, optimizer, loss, data, step=step, **given)


def test_it_begins_again_before_the_schedule_ends() -> None:
    made = training([torch.randn(8, 4) for _ in range(3)], total_steps=25)
    run = LongRun(Start(made, seed=0), None)
    weights = []
    for _ in range(60):
        run.get_ready()
        run.step()
        weights.append(made.model.weight.detach().clone())
    apart = 20 - WARM_UP
    assert all(torch.equal(one, other) for one, other in zip(weights, weights[apart:], strict=False))
    assert not torch.equal(weights[0], weights[1])


def test_a_schedule_that_ends_before_that() -> None:
    """The check takes eight steps, and those it bears."""
    served = Served(Start(training([torch.randn(8, 4)], total_steps=12), seed=0), promised=8)
    taken = served.answer({"ask": "steps", "count": 50, "untimed": 1})
    assert len(taken["seconds"]) == 50
    assert taken["broke_off"]
    assert not served.answer({"ask": "steps", "count": 50, "untimed": 1})["broke_off"]
    assert served.answer({"ask": "profile", "count": 3})["operators"]


def test_it_begins_again_when_it_is_asked_to() -> None:
    """Wherever it was; and both sides throw away as many batches, whichever had them made ahead."""
    seen: list[float] = []  # since the latest start: what a step writes to is put back as well

    def step(batch: torch.Tensor) -> float:
        seen.append(float(batch[0, 0]))
        return 0.0

    served = Served(Start(training([torch.full((8, 4), float(n)) for n in range(12)], step), seed=0))
    begin: dict[str, Any] = {"ask": "begin", "ahead": 0, "max_steps": 100}
    steps = {"ask": "steps", "count": 2, "untimed": 1}
    assert served.answer(begin) == {"workers": 0, "ahead": 0, "max_steps": 20}
    assert seen == [0, 1, 2]  # it is at its start
    served.answer(steps)
    served.answer(begin)
    taken = served.answer(steps)
    assert len(taken["seconds"]) == len(taken["waits"]) == 2
    assert not taken["broke_off"]
    assert seen == [0, 1, 2, 3, 4, 5]
    assert served.answer({**begin, "ahead": 4, "max_steps": 15}) == {"workers": 0, "ahead": 4, "max_steps": 15}
    served.answer(steps)
    assert seen == [0, 1, 2, 7, 8, 9]


def test_waiting_for_a_batch_is_timed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only the data and the step move."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Late(list[torch.Tensor]):
        def __iter__(self) -> Any:
            for batch in list.__iter__(self):
                now[0] += 0.25
                yield batch

    def step(batch: torch.Tensor) -> float:
        now[0] += 0.5
        return 0.0

    served = Served(Start(training(Late([torch.zeros(8, 4)] * 3), step), seed=0))
    taken = served.answer({"ask": "steps", "count": 4, "untimed": 1})
    assert taken["seconds"] == [0.75] * 4
    assert taken["waits"] == [0.25] * 4


def test_what_the_check_takes_has_to_go_well() -> None:
    served = Served(Start(training([torch.randn(8, 4)], total_steps=12), seed=0), promised=15)
    with pytest.raises(ValueError, match=r"Tried to step 1. times"):
        served.answer({"ask": "steps", "count": 50, "untimed": 1})


class Slowly(Dataset[torch.Tensor]):
    """Each batch of four takes its worker this many seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds / 4

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.full((4,), float(index))


def test_workers_end_with_their_run() -> None:
    """Those of an earlier start would make batches that nobody takes, on a core that somebody needs."""
    run = LongRun(Start(training(DataLoader(Slowly(), 4, num_workers=1)), seed=0), None)
    for _ in range(30):
        run.get_ready()
        run.step()
        assert len(multiprocessing.active_children()) == 1
    run.close()
    assert multiprocessing.active_children() == []


def test_what_was_made_ahead_is_not_what_is_timed() -> None:
    seen: list[float] = []

    def step(batch: torch.Tensor) -> float:
        seen.append(float(batch[0, 0]) / 4)
        return 0.0

    run = LongRun(Start(training(DataLoader(Slowly(), 4, num_workers=1, prefetch_factor=5), step), seed=0), None)
    run.step()
    run.close()
    assert seen == [*range(WARM_UP), WARM_UP + 5]


@pytest.mark.timing
def test_batches_are_not_made_while_the_other_side_has_its_turn() -> None:
    """Else its next ones would be free, and a loader could be as slow as it likes."""
    made = training(DataLoader(Slowly(0.02), 4, num_workers=1, prefetch_factor=6), lambda batch: 0.0)
    served = Served(Start(made, seed=0))
    try:
        for _ in range(3):
            seconds = served.answer({"ask": "steps", "count": 5, "untimed": 1})["seconds"]
            assert sum(seconds) / len(seconds) > 0.015
            time.sleep(0.15)  # the other's turn
    finally:
        served.close()


def test_batches_go_where_the_check_would_move_them() -> None:
    """A step of the user's own gets them on the device that was asked for, timed or not."""
    seen: list[str] = []

    def step(batch: torch.Tensor) -> float:
        seen.append(batch.device.type)
        return 1.0

    served = Served(Start(training([torch.randn(8, 4)], step), seed=0), torch.device("meta"))
    for what in ("steps", "losses", "memorise"):
        seen.clear()
        served.answer({"ask": what, "count": 2, "untimed": 1})
        assert set(seen) == {"meta"}


def test_what_keeps_it_from_starting_over_is_named() -> None:
    log, views = bytearray(), SimpleQueue[memoryview]()
    numbers = (n for n in range(1000))

    def step(batch: torch.Tensor) -> float:
        if not log:
            log.extend(b"begun")
            views.put(memoryview(log))  # its size is fixed from now on
        return float(next(numbers))

    served = Served(Start(training([torch.zeros(8, 4)], step), seed=0))
    served.answer({"ask": "steps", "count": 25, "untimed": 1})
    assert served.answer({"ask": "left"})["names"] == [
        "`step.log` (BufferError: Existing exports of data: object cannot be re-sized)",
        "`step.numbers` is the generator <genexpr>(), which cannot be rewound",
    ]
    why = served.answer({"ask": "losses", "count": 3})["why_not"]
    assert why.startswith("cannot start again: `step.numbers` is the generator")


def test_what_one_or_both_revisions_could_not_put_back() -> None:
    class Answers:
        def __init__(self, name: str, *names: str) -> None:
            self.name, self._names = name, names

        def ask(self, what: str) -> dict[str, Any]:
            assert what == "left"
            return {"names": list(self._names)}

    here, there = (
        Answers("here", "`log` (BufferError)", "`it` is a generator"),
        Answers("at main", "`log` (BufferError)"),
    )
    assert comparison._left_changed(here, there) == [  # type: ignore[arg-type]
        "timed steps did not start over where they had begun here and at main: `log` (BufferError)",
        "timed steps did not start over where they had begun here: `it` is a generator",
    ]
