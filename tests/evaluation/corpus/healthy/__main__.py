"""`python -m tests.evaluation.corpus.healthy [-v] [-s SEED] [part of a name ...]`: trains each program in a bare loop.

Shown are milliseconds of processor time a step, the loss at steps 0, 50, 200 and 400 (median of nine steps from there
on, as many losses are noisy) on the first batch only and over the data, and what looks wrong or is odd: values that are
not finite, parameters that an optimizer holds and that never moved, trainable ones that no optimizer holds.
"""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from pytest_trainhealth import Training

from ..bare_loop import batches_of, forever, one_step
from . import Factory, programs

SHOWN = (0, 50, 200, 400)


def losses_of(training: Training, batches: Iterator[Any], steps: int) -> list[float]:
    return [one_step(training, batch) for batch in islice(batches, steps)]


def shown(losses: list[float]) -> list[float]:
    return [losses[0], *(float(torch.tensor(losses[at : at + 9]).median()) for at in SHOWN[1:])]


def remarks(training: Training, before: dict[str, Tensor], losses: list[float]) -> Iterator[str]:
    if not all(torch.isfinite(torch.tensor(losses))):
        yield "loss NOT FINITE"
    groups = [group for optimizer in training.optimizers.values() for group in optimizer.param_groups]
    held = {id(p) for group in groups for p in group["params"]}
    for name, p in training.parameters().items():
        if not torch.isfinite(p.detach().abs()).all():
            yield f"{name} NOT FINITE"
        moved = name not in before or not torch.equal(before[name], p.detach())
        if id(p) in held and not moved:
            yield f"{name} never moved"
        elif id(p) not in held and p.requires_grad:
            yield f"{name} in no optimizer" + (", moved" if moved else "")
        elif id(p) not in held and moved:
            yield f"{name} frozen but moved"
    if losses[-1] > losses[0] - 0.3 * abs(losses[0]):
        yield "falls less than 30 %"


def try_out(name: str, factory: Factory, verbose: bool, seed: int) -> None:
    torch.manual_seed(seed)
    training = factory()
    first = next(iter(batches_of(training)))
    before = {
        name: p.detach().clone()
        for name, p in training.parameters().items()
        if not isinstance(p, nn.parameter.UninitializedParameter)
    }
    steps = SHOWN[-1] + 9
    started = time.process_time()
    one = losses_of(training, forever([first]), steps)
    ms = 1000 * (time.process_time() - started) / steps
    found = list(remarks(training, before, shown(one)))
    torch.manual_seed(seed)
    training = factory()
    over = losses_of(training, forever(batches_of(training)), steps)
    found += [f"over the data: {r}" for r in remarks(training, {}, shown(over)) if "NOT FINITE" in r or "falls" in r]
    figures = "  ".join(" ".join(f"{loss:9.4f}" for loss in shown(losses)) for losses in (one, over))
    shortened = "; ".join(found if verbose else found[:3]) + (f"; {len(found) - 3} more" if len(found) > 3 else "")
    print(f"{name:40} {ms:6.2f}  {figures}  {shortened}", flush=True)


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of module.name; all programs when none is given")
    parser.add_argument("-v", "--verbose", action="store_true", help="all remarks, not only three")
    parser.add_argument("-s", "--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    steps = " ".join(f"{at:9}" for at in SHOWN)
    print(f"{'program':40} {'ms':>6}  {steps}  {steps}   (one batch, then over the data)")
    for name, factory in programs().items():
        if not options.names or any(part in f"{factory.__module__}.{name}" for part in options.names):
            try:
                try_out(name, factory, options.verbose, options.seed)
            except Exception as error:
                print(f"{name:40} RAISES {type(error).__name__}: {error}", flush=True)


main()
