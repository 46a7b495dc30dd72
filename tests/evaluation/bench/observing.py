"""What observing costs: compares the recorded loop with a bare one, in alternating rounds.

On a busy machine whole rounds differ by ten percent. So each step is timed, and its median over the rounds counts: slow
steps (the sampled ones) stay slow, and the noise disappears.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.training_program import _Loop as RecordedLoop
from pytest_trainhealth.programs.training_program import recorded

#: As many as a check of medium length takes.
STEPS = 64


def bare(training: Training) -> list[float]:
    """Processor seconds of each step."""
    (inputs, target), optimizer = training.data, next(iter(training.optimizers.values()))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(training.model(inputs), target)  # type: ignore[operator]
        loss.backward()
        optimizer.step()
        loss.item()

    return [_spent(step) for _ in range(STEPS)]


def observed(training: Training, check: str) -> list[float]:
    """Processor seconds of each step. Going back to the start of the training is not part of observing."""
    plan = RunPlan(max_steps=STEPS, look=Look(signals=find_check(check).signals))
    with recorded(training, plan, CreationSites()) as run:
        loop = RecordedLoop(run, training, plan)
        times = [_spent(loop.once) for _ in range(STEPS)]
    assert run.trace.steps == STEPS
    return times


def _spent(action: Callable[[], object]) -> float:
    """Processor time: what else runs on the machine does not count."""
    began = time.process_time()
    action()
    return time.process_time() - began


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def under_anomaly_detection(training: Training) -> list[float]:
    """For comparison: what torch itself offers against NaN."""
    with torch.autograd.detect_anomaly():
        return bare(training)


Loop = Callable[[Training], list[float]]


def cost(make: Callable[[], Training], *loops: Loop, rounds: int = 16) -> tuple[list[float], float]:
    """How many times as long a round of each loop takes as a bare one, and a bare step in milliseconds."""
    torch.manual_seed(0)
    every: list[Loop] = [bare, *loops]
    trainings = [make() for _ in every]
    times: list[list[list[float]]] = [[] for _ in every]
    for number in range(rounds):
        turns = range(len(every)) if number % 2 else reversed(range(len(every)))
        for turn in turns:
            times[turn].append(every[turn](trainings[turn]))
    usual, *seen = (sum(median(step) for step in zip(*each, strict=True)) for each in times)
    return [each / usual for each in seen], 1e3 * usual / STEPS
