"""`python -m tests.evaluation.bench.growth`: what models of many tensors or modules cost, in steps of a bare loop.

Ten times as many cost ten times as much, in the bare loop and in ours: so the ratio of the two must not grow. Processor
time, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.state.snapshot import Snapshot

from .accounting import counted

CHECKS = ("trains_without_nan", "gradients_flow", "overfits_one_batch")
TENSORS, MODULES = (500, 5_000, 50_000), (100, 1_000, 10_000)
#: How many times as many bare steps the largest model may cost as the smallest one. Quadratic growth would be 100 times
#: as many; what is done once only makes it less. By judgement: twice leaves room for caches that overflow.
MOST_GROWTH = 2.0
#: A bare loop that the others are compared with: its steps, and how many come before that.
_STEPS, _FIRST = 5, 2
_SAMPLES, _CLASSES = 16, 3
#: Seconds, more than any of it takes.
_BUDGET = 3600.0


class Tensors(nn.Module):
    """One module with very many parameters: rows of a matrix."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.rows = nn.ParameterList(torch.randn(_CLASSES) / number**0.5 for _ in range(number))

    def forward(self, x: Tensor) -> Tensor:
        return x @ torch.stack(tuple(self.rows))


class Modules(nn.Module):
    """Very many layers that see a few inputs each."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, _CLASSES) for _ in range(number))

    def forward(self, x: Tensor) -> Tensor:
        parts = [layer(part) for layer, part in zip(self.layers, x.split(2, 1), strict=True)]
        return torch.stack(parts).sum(0) / len(parts) ** 0.5


def training(make: Callable[[int], nn.Module], number: int, inputs: int) -> Training:
    torch.manual_seed(0)
    model = make(number)
    data = torch.randn(_SAMPLES, inputs), torch.arange(_SAMPLES) % _CLASSES
    return Training(model, torch.optim.Adam(model.parameters(), 1e-3), criterion=F.cross_entropy, data=data)


def tensors(number: int) -> Training:
    return training(Tensors, number, number)


def modules(number: int) -> Training:
    return training(Modules, number, 2 * number)


def bare_step(subject: Training) -> float:
    (inputs, target), optimizer = subject.data, next(iter(subject.optimizers.values()))

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(subject.model(inputs), target).backward()  # type: ignore[operator]
        optimizer.step()

    for _ in range(_FIRST):
        step()
    return min(_spent(step) for _ in range(_STEPS))


def checked(subject: Training, check: str) -> tuple[float, int, str]:
    """Processor seconds, steps taken and the outcome."""
    with counted() as runs:
        began = time.process_time()
        verdict = examine(subject, Request(check, "growth", 0, {"budget": _BUDGET}))
        return time.process_time() - began, sum(run.steps for run in runs), verdict.outcome


def snapshot_and_restore(subject: Training) -> float:
    bare_step(subject)  # gradients and the optimizer's state are there
    return _spent(lambda: Snapshot(subject.state_roots()).restore())


def _spent(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


def table(kind: str, make: Callable[[int], Training], sizes: tuple[int, ...]) -> bool:
    """Prints a line for each size. Whether it grows faster than the bare loop."""
    beyond: dict[str, list[float]] = {}
    for size in sizes:
        bare = bare_step(make(size))
        kept = snapshot_and_restore(make(size))
        beyond.setdefault("snapshot", []).append(kept / bare)
        print(f"{size:>7,} {kind:<8} bare step {bare:8.4f} s   snapshot + restore {kept:7.2f} s", flush=True)
        for check in CHECKS:
            with redirect_stderr(StringIO()):
                seconds, steps, outcome = checked(make(size), check)
            beyond.setdefault(check, []).append(seconds / (bare * steps))
            figures = f"{seconds:8.2f} s in {steps:>4} steps, each {seconds / bare / steps:6.2f} bare ones"
            print(f"{'':>17}{check:<20} {figures}   {outcome}", flush=True)
    grown = {name: ratios[-1] / ratios[0] for name, ratios in beyond.items() if ratios[-1] > MOST_GROWTH * ratios[0]}
    for name, ratio in grown.items():
        print(f"TOO MUCH: {name} grows {ratio:.1f} times as fast as the bare step (at most {MOST_GROWTH:g})")
    return bool(grown)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=max(TENSORS), help="leave out larger models")
    most = parser.parse_args().most
    torch.set_num_threads(1)
    found = [
        table(kind, make, tuple(size for size in sizes if size <= most))
        for kind, make, sizes in (("tensors", tensors, TENSORS), ("modules", modules, MODULES))
    ]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
