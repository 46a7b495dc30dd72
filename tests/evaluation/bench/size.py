"""`python -m tests.evaluation.bench.size`: what the battery costs on models of 1, 10, 100 and 300 million parameters.

Each size in processes of its own, because a process never gives its largest memory back: one takes bare steps only, one
runs the battery on the healthy training, and one lets a check fail and be diagnosed. Processor time, so that other work
on the machine counts for little; memory above that of a process which has imported everything. Large blocks are given
back to the system as soon as they are free, or the figure would hold what the C library keeps for later.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose

from .accounting import counted

SIZES = (1_000_000, 10_000_000, 100_000_000, 300_000_000)
#: From DESIGN's figures: at 10 million parameters and more, in bare steps for each step taken.
MOST_TIME, FROM = 1.3, 10_000_000
#: The training's own memory and one snapshot of it, with what allocators keep: 2.1 in all was measured before.
MOST_MEMORY = 2.2
#: A failing check and its diagnosis, in the time of the failing check's own runs.
MOST_DIAGNOSIS = 10.0
_LAYERS, _INPUTS, _CLASSES, _SAMPLES, _BATCHES = 6, 64, 8, 16, 6
_BARE, _FIRST = 8, 2
#: Seconds, more than any of it takes.
_BUDGET = 7200.0


def training(parameters: int, *, held: bool = True) -> Training:
    """A perceptron with normalised layers. Without `held` its last layer is in no optimizer."""
    torch.manual_seed(0)
    width = round((parameters / _LAYERS) ** 0.5)
    hidden = [nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(_LAYERS)]
    model = nn.Sequential(nn.Linear(_INPUTS, width), *hidden, nn.Linear(width, _CLASSES))
    optimizer = torch.optim.Adam(model.parameters() if held else model[:-1].parameters(), 1e-4)
    inputs = torch.randn(_BATCHES, _SAMPLES, _INPUTS)
    data = [(batch, batch[:, :_CLASSES].argmax(1)) for batch in inputs]
    return Training(model, optimizer, criterion=F.cross_entropy, data=data)


def bare(parameters: int) -> tuple[float, float]:
    """Processor seconds of a step, and megabytes."""
    before = _megabytes()
    subject = training(parameters)
    model: Any = subject.model
    optimizer = next(iter(subject.optimizers.values()))
    spent = []
    for number in range(_FIRST + _BARE):
        inputs, target = subject.data[number % _BATCHES]
        began = time.process_time()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), target).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        spent.append(time.process_time() - began)
    # the battery's steps are averaged as well, with those that something else on the machine has slowed down
    return fmean(spent[_FIRST:]), _megabytes() - before


def battery(parameters: int) -> tuple[float, float, int, str]:
    before = _megabytes()
    with counted() as runs:
        began = time.process_time()
        report = diagnose(lambda: training(parameters), budget=_BUDGET)
        seconds = time.process_time() - began
    outcomes = ", ".join(sorted({verdict.outcome for verdict in report.verdicts}))
    return seconds, _megabytes() - before, sum(run.steps for run in runs), outcomes


def diagnosis(parameters: int) -> tuple[float, float, str]:
    """Of a head that no optimizer holds: seconds in all, those of the check's own runs, and what is said."""
    with counted() as runs:
        began = time.process_time()
        report = diagnose(lambda: training(parameters, held=False), ["gradients_flow"], budget=_BUDGET)
        seconds = time.process_time() - began
    own = sum(run.seconds for run in runs if run.purpose == "the check's own run")
    return seconds, own, ", ".join(f"{each.cause} ({each.certainty})" for each in report.findings) or "nothing found"


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _alone(measure: Callable[[int], Any], parameters: int) -> Any:
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "262144"  # bytes; read when a process starts
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_warm, (measure, parameters))


def _warm(measure: Callable[[int], Any], parameters: int) -> Any:
    torch.set_num_threads(1)
    measure(1_000)  # imports, and what torch does once
    return measure(parameters)


def row(parameters: int) -> bool:
    """Prints a line. Whether a bar was missed."""
    step, own = _alone(bare, parameters)
    seconds, memory, steps, outcomes = _alone(battery, parameters)
    diagnosed, check, said = _alone(diagnosis, parameters)
    time_ratio, memory_ratio, look = seconds / (step * steps), memory / own, diagnosed / check
    print(
        f"{parameters:>12,}  bare step {step:7.3f} s, {own:7.0f} MB   battery {seconds:7.1f} s in {steps:>4} steps "
        f"= {time_ratio:4.2f} x, {memory:7.0f} MB = {memory_ratio:4.2f} x   {outcomes}   "
        f"diagnosis {look:4.1f} checks, {said}",
        flush=True,
    )
    missed = [time_ratio > MOST_TIME and parameters >= FROM, memory_ratio > MOST_MEMORY, look > MOST_DIAGNOSIS]
    return any(missed) and parameters >= FROM


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.bench.size", description=__doc__)
    parser.add_argument("--least", type=int, default=min(SIZES), help="leave out smaller models")
    parser.add_argument("--most", type=int, default=max(SIZES), help="leave out larger models")
    options = parser.parse_args()
    missed = [row(size) for size in SIZES if options.least <= size <= options.most]
    print("all bars kept" if not any(missed) else "TOO MUCH")
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
