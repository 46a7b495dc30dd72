"""What observing costs: the recorded loop against a bare one, rounds in turn.

On a busy machine whole rounds differ by ten percent. So each step is timed, and what counts is its median over the
rounds: dear steps (the sampled ones) stay dear, and the noise goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.checks import check as find_check
from pytest_trainhealth.observe.places import MadeAt
from pytest_trainhealth.observe.recording import Plan, recorded
from pytest_trainhealth.observe.recording import _Loop as RecordedLoop

#: As many as a check of medium length takes.
STEPS = 64


def bare(training: Training) -> list[float]:
    """Seconds of each step."""
    (inputs, target), optimizer = training.data, next(iter(training.optimizers.values()))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(training.model(inputs), target)  # type: ignore[operator]
        loss.backward()
        optimizer.step()
        loss.item()

    return [_timed(step) for _ in range(STEPS)]


def observed(training: Training, check: str) -> list[float]:
    """Seconds of each step. Putting the training back at its start is not observing."""
    plan = Plan(longest=STEPS, signals=find_check(check).SIGNALS)
    with recorded(training, plan, MadeAt()) as run:
        loop = RecordedLoop(run, training, plan)
        times = [_timed(loop.once) for _ in range(STEPS)]
    assert run.trace.steps == STEPS
    return times


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def cost(make: Callable[[], Training], check: str, rounds: int = 16) -> tuple[float, float]:
    """How much longer a round is when observed, and a bare step in milliseconds."""
    torch.manual_seed(0)
    one, other = make(), make()
    bare_rounds, observed_rounds = [], []
    for number in range(rounds):
        if number % 2:
            bare_rounds.append(bare(one))
            observed_rounds.append(observed(other, check))
        else:
            observed_rounds.append(observed(other, check))
            bare_rounds.append(bare(one))
    usual, seen = (sum(median(step) for step in zip(*side, strict=True)) for side in (bare_rounds, observed_rounds))
    return seen / usual, 1e3 * usual / STEPS
