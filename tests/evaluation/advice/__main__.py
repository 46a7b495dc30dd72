"""Is advice right? Tries the panel on trainings with a known better setting, and on tuned ones, and prints a table.

    python -m tests.evaluation.advice --times 3
    python -m tests.evaluation.advice slow_loader tuned_net

The first line of each has to be the known change, on tuned ones nothing may be claimed, and each time has to give the
same first line.
"""

from __future__ import annotations

import argparse
import time

import torch

from pytest_trainhealth import diagnose

from .trainings import KNOWN, STEPS, TUNED

_ALL = {factory.__name__: factory for factory in (*KNOWN, *TUNED)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(_ALL), help="trainings, by default all")
    parser.add_argument("--times", type=int, default=1, help="how often each of them is given advice")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for each of them")
    parser.add_argument("-v", action="store_true", help="all of the advice, and progress")
    given = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    for name in given.names:
        for turn in range(given.times):
            wrong += not _right(name, turn, given.budget, given.v)
    print(f"{wrong} of {len(given.names) * given.times} wrong")
    return int(wrong > 0)


def _right(name: str, turn: int, budget: float, verbose: bool) -> bool:
    factory, began = _ALL[name], time.perf_counter()
    report = diagnose(factory, checks=["gradients_flow"], advise=True, advise_budget=budget,
                      advise_steps=STEPS, progress=print if verbose else None)  # fmt: skip
    gains = [each for each in report.advice if each.status == "gain"]
    first = str(gains[0]) if gains else "no gain"
    right = report.healthy and (gains[0].change if gains else None) in KNOWN.get(factory, (None,))
    took = time.perf_counter() - began
    print(f"{'right' if right else 'WRONG'}  {name:26} {turn + 1}  {first:.110}  {took:.0f} s", flush=True)
    if verbose:
        print(report, *(f"  {each.status}: {each}" for each in report.advice), sep="\n")
    return right


if __name__ == "__main__":
    raise SystemExit(main())
