"""`python -m tests.evaluation.bench.battery`: what the whole battery costs on healthy trainings, and on what.

Processor time of the battery, divided by that of a bare loop over as many steps as its longest check took, in the same
process. Beside it the same ratio in steps, which no load on the machine can change.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from statistics import fmean, median

import torch
from torch import nn

from pytest_trainhealth import Training, diagnose

from ..scoreboard.cases import all_cases, factory
from ..scoreboard.diagnosing import bare_seconds, quiet
from ..scoreboard.speed import MOST_FOR_HEALTHY
from ..scoreboard.workers import cores
from .accounting import Account, counted

_SEED = 0


def account(case: str) -> Account | None:
    """None for a watched program, whose steps are its own, and for one that raises."""
    torch.set_num_threads(1)
    _import_all()
    make = factory(case)
    try:
        with quiet():
            if not isinstance(make(), Training):  # and what it imports is imported by now
                return None
        with quiet(), counted() as runs:
            began = time.process_time()
            report = diagnose(make, seed=_SEED)
            seconds = time.process_time() - began
        steps = max(verdict.steps for verdict in report.verdicts)
        return Account(case, seconds, bare_seconds(case, _SEED, steps), steps, tuple(runs))
    except Exception as error:
        print(f"{case}: {type(error).__name__}", file=sys.stderr)
        return None


@cache
def _import_all() -> None:
    """Modules are imported by the first diagnosis of a process, which takes as long as some batteries."""
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    data = [(torch.randn(8, 2), torch.randint(0, 2, (8,))) for _ in range(4)]
    diagnose(Training(model, torch.optim.Adam(model.parameters()), criterion=nn.functional.cross_entropy, data=data))


def table(accounts: Sequence[Account]) -> str:
    """The distribution of both ratios, then the parts by what they cost on the average program."""
    lines = [f"{len(accounts)} healthy programs           1 in 10 below   median   1 in 10 above"]
    ratios, works = [each.ratio for each in accounts], [each.work for each in accounts]
    for name, values in (("processor time / bare loop", ratios), ("steps / steps of it", works)):
        low, high = _tenth(values, 1), _tenth(values, 9)
        lines.append(f"{name:<30} {low:>13.2f} {median(values):>8.2f} {high:>15.2f}")
    lines += ["", f"{'mean, in bare loops':<46} programs     time    steps"]
    parts: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for each in accounts:
        for key, found in each.parts().items():
            parts[key].append(found)
    for (check, purpose), found in sorted(parts.items(), key=lambda part: -sum(spent for spent, _ in part[1])):
        spent, steps = (sum(values) / len(accounts) for values in zip(*found, strict=True))
        lines.append(f"{check:<22} {purpose:<23} {len(found):>8} {spent:>8.3f} {steps:>8.3f}")
    lines.append(f"{'all':<46} {len(accounts):>8} {fmean(ratios):>8.3f} {fmean(works):>8.3f}")
    return "\n".join(lines)


def _tenth(values: Sequence[float], tenths: int) -> float:
    return sorted(values)[len(values) * tenths // 10]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.bench.battery", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="PART", help="parts of ids (healthy/name) or families")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth program only")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")
    options = parser.parse_args()
    cases = [case for case in all_cases().values() if case.kind != "fault"]
    chosen = [case.id for case in cases if not options.only or case.matches(options.only)][:: options.every]
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=40) as pool:
        found = [each for each in pool.imap_unordered(account, chosen) if each is not None]
    if not found:
        sys.exit("no such program")
    print(table(found))
    usual = median(each.ratio for each in found)
    print(f"\nat most {MOST_FOR_HEALTHY:g} x is wanted: {'kept' if usual <= MOST_FOR_HEALTHY else 'TOO MUCH'}")
    return int(usual > MOST_FOR_HEALTHY)


if __name__ == "__main__":
    sys.exit(main())
