"""What a side can be asked for, once it has the training: its steps' times, losses, operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from ..checks import check as find_check
from ..observe.feed import Feed
from ..observe.loop import Stepper
from ..observe.recording import Plan, TrainingProgram
from ..settings import OVERFIT
from ..starting import Start
from ..training import Training
from ..undisturbed import seed_everything, undisturbed
from .cores import Cores
from .talking import Message

_MOST_OPERATORS = 40


class NoTraining(Exception):
    """What the test gives cannot be compared; the reason."""


class Served:
    """A training from its start, once more for every question about losses, and one long run for the clock."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._program = TrainingProgram(start)
        self._timed: tuple[Feed, Stepper] | None = None
        self._cores = Cores()

    def answer(self, request: Message) -> Message:
        questions: dict[str, Callable[[int], Message]] = {
            "steps": self._steps,
            "losses": self._losses,
            "memorise": self._memorise,
            "profile": self._profile,
        }
        return questions[request["ask"]](int(request.get("count", 0)))

    def _steps(self, count: int) -> Message:
        """Seconds of whole steps, waiting for data included. The first is not timed: the other side had the caches."""
        once, seconds = self._ready(), []
        training = self._start.training
        threads = torch.get_num_threads() if training.device.type == "cpu" else 0
        with self._cores.one(threads):
            once()
            for _ in range(count):
                began = time.perf_counter()
                once()
                _synchronise(training)
                seconds.append(time.perf_counter() - began)
        return {"seconds": seconds}

    def _losses(self, count: int) -> Message:
        self._timed = None
        if not self._start.repeatable:
            return {"losses": []}
        return {"losses": self._program.record(Plan(longest=count, one_batch=False)).losses}

    def _memorise(self, most: int) -> Message:
        """Steps until overfits_one_batch would be content; None where it is not by then."""
        self._timed = None
        check = find_check(OVERFIT)
        if not self._start.repeatable:
            return {"steps": None}
        plan = Plan(longest=most, signals=check.SIGNALS, enough=lambda trace: check.enough(trace, {}))
        trace = self._program.record(plan)
        return {"steps": trace.steps if trace.steps < most else None}

    def _profile(self, count: int) -> Message:
        """Milliseconds a step, by operator, its own time only."""
        once = self._ready()
        once()
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            for _ in range(count):
                once()
        own = {row.key: row.self_cpu_time_total / 1e3 / count for row in profiled.key_averages()}
        largest = sorted(own, key=lambda name: -own[name])[:_MOST_OPERATORS]
        return {"operators": {name: own[name] for name in largest}}

    def _ready(self) -> Callable[[], None]:
        if self._timed is None:
            training = self._start.begin()
            self._timed = Feed(training, one_batch=False), Stepper(training)
        feed, stepper = self._timed

        def once() -> None:
            stepper.take(feed.take())
            feed.give_back()

        return once


@contextmanager
def served(subject: Any, *, seed: int, threads: int, device: str | None) -> Iterator[Served]:
    """The training is built as the check builds it: under the item's seed, by the factory where there is one."""
    with undisturbed(threads):
        factory = None if isinstance(subject, Training) else subject
        seed_everything(seed)
        training = subject if factory is None else factory()
        if not isinstance(training, Training):
            raise NoTraining("only a test that returns a Training can be compared, not one that is watched")
        where = None if device is None else torch.device(device)
        start = Start(training, seed=seed, factory=factory, device=where)
        try:
            yield Served(start)
        finally:
            start.close()


def _synchronise(training: Training) -> None:
    if training.device.type != "cpu":
        torch.accelerator.synchronize(training.device)
