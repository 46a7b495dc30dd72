"""`python -m tests.evaluation.bench.watched`: how much longer a script takes that is watched, by check.

Each script takes about ten seconds by itself and knows nothing of us. It is run in a process of its own, bare and then
watched by each check, in turns; so what a process does only once is part of the figure, as in a test run. Imports are
not: pytest has made them by then. Processor time, so that other work on the machine counts for little.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine

from .models import MODELS

#: In bare scripts, of one that takes ten seconds.
MOST_COST = 1.2
CHECKS = ("trains_without_nan", "gradients_flow")
#: Seconds of a bare script, and the bare steps that say how many that are.
_SECONDS, _TRIED = 10.0, 100
#: Rounds in which each side is measured once.
_ROUNDS = 3
#: Seconds, more than any of it takes.
_BUDGET = 3600.0


def script(name: str, steps: int) -> None:
    """What a user's `main()` does: it makes a model and its optimizer, and trains."""
    torch.manual_seed(0)
    made = MODELS[name]()
    model, (inputs, target) = made.model, made.data
    assert isinstance(model, nn.Module)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), target).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def measured(name: str, steps: int, check: str) -> tuple[float, str]:
    """Processor seconds of the script and the outcome; without a check, bare."""
    torch.set_num_threads(1)
    _import_all()
    began = time.process_time()
    if not check:
        script(name, steps)
        return time.process_time() - began, ""
    verdict = examine(lambda: script(name, steps), Request(check, name, 0, {"budget": _BUDGET}))
    return time.process_time() - began, verdict.outcome


def _import_all() -> None:
    """What is imported by the first training of a process, and by the first check of it."""
    model = nn.Linear(2, 2)
    training = Training(model, torch.optim.AdamW(model.parameters()), criterion=F.cross_entropy,
                        data=(torch.randn(4, 2), torch.tensor([0, 1, 0, 1])))  # fmt: skip
    examine(training, Request("data_is_healthy", "imports", 0, {}))


def few_steps(name: str, steps: int, check: str) -> tuple[float, str]:
    """Processor seconds of a script that is not the first of its process."""
    torch.set_num_threads(1)
    script(name, steps)
    began = time.process_time()
    script(name, steps)
    return time.process_time() - began, check


def steps_of(name: str, seconds: float) -> int:
    """As many as take about so long."""
    tried, _ = _alone(few_steps, name, _TRIED, "")
    return max(_TRIED, round(seconds * _TRIED / tried))


def _alone(measure: Callable[[str, int, str], tuple[float, str]], *given: object) -> tuple[float, str]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, given)


def row(name: str, rounds: int, seconds: float) -> bool:
    """Prints a line for each check. Whether the bar was missed."""
    steps = steps_of(name, seconds)
    times: dict[str, list[float]] = {side: [] for side in ("", *CHECKS)}
    outcomes: dict[str, str] = {}
    for number in range(rounds):
        for side in times if number % 2 else reversed(times):
            spent, outcomes[side] = _alone(measured, name, steps, side)
            times[side].append(spent)
    usual = median(times[""])
    missed = False
    for check in CHECKS:
        ratio = median(times[check]) / usual
        missed = missed or ratio > MOST_COST
        print(
            f"{name:<12} bare {usual:6.2f} s, {steps:>5} steps   {check:<20} watched / bare {ratio:5.3f} "
            f"(at most {MOST_COST:g})   {outcomes[check]}{'  TOO MUCH' if ratio > MOST_COST else ''}",
            flush=True,
        )
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.bench.watched", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="of a bare script; the bar is for ten")
    options = parser.parse_args()
    return int(any([row(name, options.rounds, options.seconds) for name in options.only]))


if __name__ == "__main__":
    sys.exit(main())
