"""What a revision can be asked for once it has built the training: times of steps, losses and operators."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from ..checks import check as find_check
from ..programs.plan import Look, RunPlan
from ..programs.start import Start
from ..programs.training_program import TrainingProgram
from ..settings import OVERFITS_ONE_BATCH
from ..state.process import seed_everything, undisturbed
from ..training import Training
from . import loader_workers
from .cpu_affinity import Cores
from .protocol import Message
from .step_sync import Pace
from .timed_run import LONGEST, LongRun

#: Operators in an answer. By judgement: 5 of them are shown, and the others may be needed for the comparison.
_MOST_OPERATORS = 40


class NoTraining(Exception):
    """The test does not give a training that can be compared; the message says why."""


class Served:
    """Answers requests about one training: runs it from its start for each question about losses, and keeps one long
    run for timing."""

    def __init__(self, start: Start, device: torch.device | None = None, promised: int = LONGEST) -> None:
        self._start, self._device, self._promised = start, device, promised
        self._program = TrainingProgram(start)
        self._timed: LongRun | None = None
        self._cores = Cores()
        self._left: dict[str, None] = {}

    @property
    def device(self) -> str:
        return self._start.training.device.type

    def answer(self, request: Message) -> Message:
        questions: dict[str, Callable[[int], Message]] = {
            "begin": lambda _: self._begin(Pace(ahead=request["ahead"], max_steps=request["max_steps"])),
            "steps": lambda count: self._steps(count, request["untimed"]),
            "threads": self._threads,
            "losses": self._losses,
            "memorise": self._memorise,
            "profile": self._profile,
            "left": self._left_changed,
        }
        with loader_workers.at_work():
            return questions[request["ask"]](int(request.get("count", 0)))

    def close(self) -> None:
        loader_workers.wake()
        if self._timed is not None:
            self._timed.close()
            self._left.update(self._timed.left)
            self._timed = None

    def _begin(self, pace: Pace) -> Message:
        run = self._ready()
        run.begin(pace)
        return asdict(run.pace)

    def _steps(self, count: int, untimed: int) -> Message:
        """The seconds of each whole step, and how many of them it spent waiting for data."""
        run, broke_off = self._ready(), False
        seconds: list[float] = []
        waits: list[float] = []
        threads = torch.get_num_threads() if self.device == "cpu" else 0
        with self._cores.one(threads):
            for _ in range(untimed):
                run.get_ready()
                broke_off |= not run.step()
            while len(seconds) < count:
                run.get_ready()
                _synchronise(run.training)
                began = time.perf_counter()
                counts = run.step()
                _synchronise(run.training)
                if counts:
                    seconds.append(time.perf_counter() - began)
                    waits.append(run.waited)
                broke_off |= not counts
        return {"seconds": seconds, "waits": waits, "broke_off": broke_off}

    def _threads(self, count: int) -> Message:
        torch.set_num_threads(count)
        return {}

    def _losses(self, count: int) -> Message:
        self.close()
        if not self._start.repeatable:
            return {"losses": [], "why_not": self._start.why_not}
        plan = RunPlan(max_steps=count, one_batch=False, device=self._device)
        return {"losses": self._program.record(plan).losses}

    def _memorise(self, most: int) -> Message:
        """Steps until overfits_one_batch would pass; None if it does not within `most`."""
        self.close()
        check = find_check(OVERFITS_ONE_BATCH)
        if not self._start.repeatable:
            return {"steps": None}
        plan = RunPlan(
            most, Look(check.signals), stop_when=lambda trace: check.stop_when(trace, {}), device=self._device
        )
        trace = self._program.record(plan)
        return {"steps": trace.steps if trace.steps < most else None}

    def _profile(self, count: int) -> Message:
        """Milliseconds a step for each operator, without the operators it calls."""
        run = self._ready(ahead=count + 1)
        run.step()
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            for _ in range(count):
                run.step()
        own = {row.key: row.self_cpu_time_total / 1e3 / count for row in profiled.key_averages()}
        largest = sorted(own, key=lambda name: -own[name])[:_MOST_OPERATORS]
        return {"operators": {name: own[name] for name in largest}}

    def _left_changed(self, _: int) -> Message:
        """What was not as at the start when timed steps started over."""
        self.close()
        return {"names": list(self._left)}

    def _ready(self, ahead: int = 1) -> LongRun:
        """The timed run, with at least `ahead` steps to go before it starts over."""
        if self._timed is None:
            self._timed = LongRun(self._start, self._device, self._promised)
        self._timed.get_ready(ahead)
        return self._timed


@contextmanager
def served(subject: Any, *, seed: int, threads: int, device: str | None, promised: int) -> Iterator[Served]:
    """Builds the training as the check does: under the item's seed, and by the factory if there is one."""
    with undisturbed(threads):
        factory = None if isinstance(subject, Training) else subject
        seed_everything(seed)
        training = subject if factory is None else factory()
        if not isinstance(training, Training):
            raise NoTraining("only a test that returns a Training can be compared, not one that is watched")
        where = None if device is None else torch.device(device)
        start = Start(training, seed=seed, factory=factory, device=where)
        serving = Served(start, where, promised)
        try:
            yield serving
        finally:
            serving.close()
            for name in start.close():  # the process ends now: nobody asks any more, but its output is kept
                print(f"left changed: {name}", file=sys.stderr)


def _synchronise(training: Training) -> None:
    if training.device.type != "cpu":
        torch.accelerator.synchronize(training.device)
