"""What observing costs: the recorded loop against a bare one, chunk by chunk, sides alternating."""

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

#: Steps of a chunk: as many as a check of medium length takes.
STEPS = 64


def bare(training: Training) -> float:
    (inputs, target), optimizer = training.data, next(iter(training.optimizers.values()))
    began = time.perf_counter()
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(training.model(inputs), target)  # type: ignore[operator]
        loss.backward()
        optimizer.step()
        loss.item()
    return time.perf_counter() - began


def observed(training: Training, check: str) -> float:
    """The steps only: putting the training back at its start is not observing."""
    plan = Plan(longest=STEPS, signals=find_check(check).SIGNALS)
    with recorded(training, plan, MadeAt()) as run:
        loop = RecordedLoop(run, training, plan)
        began = time.perf_counter()
        for _ in range(STEPS):
            loop.once()
        took = time.perf_counter() - began
    assert run.trace.steps == STEPS
    return took


def cost(make: Callable[[], Training], check: str, rounds: int = 12) -> tuple[float, float]:
    """The ratio of medians (sides in turn, ABBA), and a bare step in milliseconds."""
    torch.manual_seed(0)
    one, other = make(), make()
    times: dict[str, list[float]] = {"bare": [], "observed": []}
    for number in range(rounds):
        sides = ("bare", "observed") if number % 2 == 0 else ("observed", "bare")
        for side in sides:
            times[side].append(bare(one) if side == "bare" else observed(other, check))
    ratios = [b / a for a, b in zip(times["bare"], times["observed"], strict=True)]
    return median(ratios), 1e3 * median(times["bare"]) / STEPS
