"""`python -m tests.evaluation.bench.measuring_cost`: compares a step as `keeps_throughput` reports it with a bare one.

Both loops take turns of a few steps, and their fast steps (the lower quartile) are compared: other work on the machine
can only make steps slower. The table also shows the time that passes while the check takes a step, listeners included;
no report has that figure, because the check subtracts what listeners take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import quantiles

import torch
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis.timing import step_times
from pytest_trainhealth.checks.keeps_throughput import SIGNALS
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.training_program import _Loop as RecordedLoop
from pytest_trainhealth.programs.training_program import recorded

from .models import MODELS
from .observing import _timed

#: The most that a reported step may take, in bare steps, and the milliseconds below which a step is shown but not
#: judged. Our own loop and the calls to hooks take some 35 microseconds, because the training has just filled the
#: caches with something else; none of them stands out. In three runs a reported step was 1.010 to 1.022 of a step of
#: 3.5 ms, 1.002 to 1.014 of one of 8 ms, and 1.026 to 1.032 of one of 1.4 ms.
MOST_COST, _SHORT = 1.02, 3.0
#: Steps of a turn that count; steps before them that do not, as in the check; turns of each loop.
_STEPS, _FIRST, _TURNS = 30, 5, 16


def bare(training: Training) -> list[float]:
    (inputs, target), optimizer = training.data, next(iter(training.optimizers.values()))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(training.model(inputs), target)  # type: ignore[operator]
        loss.item()
        loss.backward()
        optimizer.step()

    return [_timed(step) for _ in range(_FIRST + _STEPS)][_FIRST:]


def measured(training: Training) -> tuple[list[float], list[float]]:
    """Seconds of each step: as the check measures them, and as they pass while it takes the step."""
    plan = RunPlan(max_steps=_FIRST + _STEPS, look=Look(signals=SIGNALS), one_batch=False)
    with recorded(training, plan, CreationSites()) as run:
        loop = RecordedLoop(run, training, plan)
        outside = [_timed(loop.once) for _ in range(_FIRST + _STEPS)]
    return step_times(run.trace)[_FIRST:], outside[_FIRST:]


def cost(make: Callable[[], Training]) -> tuple[float, float, float]:
    """The reported time and the time that passes, both in bare steps, and the bare step in milliseconds."""
    torch.manual_seed(0)
    ours, theirs = make(), make()
    reported: list[float] = []
    outside: list[float] = []
    usual: list[float] = []
    for turn in range(2 * _TURNS):
        if turn % 4 in (0, 3):
            usual += bare(theirs)
        else:
            by_the_check, passed = measured(ours)
            reported += by_the_check
            outside += passed
    alone = _fast(usual)
    return _fast(reported) / alone, _fast(outside) / alone, 1e3 * alone


def _fast(seconds: list[float]) -> float:
    return quantiles(seconds, n=4)[0]


def main() -> int:
    torch.set_num_threads(1)
    worst = 0.0
    for name, make in MODELS.items():
        reported, outside, step = cost(make)
        worst = max(worst, reported if step >= _SHORT else 0.0)
        line = f"reported / bare {reported:.3f} (at most {MOST_COST}), with listeners {outside:.3f}"
        print(f"{name:<12} {step:>7.2f} ms  {line}", flush=True)
    return int(worst > MOST_COST)


if __name__ == "__main__":
    sys.exit(main())
