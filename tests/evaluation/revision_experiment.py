"""How often is a comparison right? Compares a revision with itself and with slower ones, many times over.

    python -m tests.evaluation.revision_experiment --times 20 --slowdown 0 0.03 0.2 --loaded

Each one is a whole comparison: a worktree, two processes, rounds in turns. `--loaded` keeps every core busy meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch

from pytest_trainhealth.records.comparison import Comparison
from pytest_trainhealth.revisions import compare
from pytest_trainhealth.revisions.pairing import Pairs
from pytest_trainhealth.revisions.test_locator import TestLocator

from ..revisions.repository import Repository, training_file

#: Matrix products in a step, and their size. A step without any takes about as long as 20 of them.
WORK, SIZE = 400, 96


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=20)
    options.add_argument("--slowdown", type=float, nargs="+", default=[0.0, 0.03, 0.2])
    options.add_argument("--tolerance", type=float, default=0.1)
    options.add_argument("--loaded", action="store_true", help="keep every core busy meanwhile")
    options.add_argument("--keep", type=Path, help="write the seconds of every round to this file (JSON lines)")
    given = options.parse_args()
    print(f"{given.times} times each, tolerance {given.tolerance:.0%}, {'loaded' if given.loaded else 'as it is'}")
    print(f"{'slowdown':>8}  {'slower':>6}  {'not slower':>10}  {'too wide':>8}  {'other':>5}  "
          f"{'ratio: least, median, most':>26}  {'pairs':>5}  {'seconds':>7}")  # fmt: skip
    with busy(given.loaded):
        for slowdown in given.slowdown:
            began = time.monotonic()
            with kept_rounds(given.keep, slowdown):
                found = [once(slowdown, given.tolerance) for _ in range(given.times)]
            print(row(slowdown, found, (time.monotonic() - began) / given.times), flush=True)
            for reason in sorted({c.reason for c in found if c.reason}):
                print(f"          {reason}")


def once(slowdown: float, tolerance: float) -> Comparison:
    """Compares in a repository whose last commit is fast and whose uncommitted state is slower."""
    with tempfile.TemporaryDirectory(prefix="experiment-") as folder:
        repository = Repository(Path(folder) / "project")
        repository.write("train.py", training_file(WORK, SIZE))
        repository.commit()
        repository.write("train.py", training_file(slower_work(slowdown), SIZE))
        locator = TestLocator(file=repository.folder / "train.py", folder=repository.folder, function="training")
        terms = compare.Terms(
            "HEAD",
            tolerance,
            deadline=time.monotonic() + 180,
            check="keeps_throughput",
            seed=0,
            threads=torch.get_num_threads(),
            device=None,
            promised=45,
        )
        return compare.compare(locator, terms)


def slower_work(slowdown: float) -> int:
    return WORK + round(slowdown * (WORK + 20))


def row(slowdown: float, found: list[Comparison], seconds: float) -> str:
    counts = Counter(c.outcome for c in found)
    ratios = [c.ratio for c in found if c.pairs]
    spread = f"{min(ratios):.2f}, {median(ratios):.2f}, {max(ratios):.2f}" if ratios else "-"
    pairs = median(c.pairs for c in found)
    return (f"{slowdown:>8.0%}  {counts['slower']:>6}  {counts['not slower']:>10}  {counts['too wide']:>8}  "
            f"{counts['could not compare']:>5}  {spread:>26}  {pairs:>5.0f}  {seconds:>7.1f}")  # fmt: skip


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """Runs one process for each core that does nothing but compute."""
    code = f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**6))"
    count = (os.cpu_count() or 1) if wanted else 0
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextmanager
def kept_rounds(file: Path | None, slowdown: float) -> Iterator[None]:
    original = compare.paired

    def paired(*given: object) -> Pairs:
        pairs = original(*given)  # type: ignore[arg-type]
        if file is not None:
            with file.open("a") as out:
                out.write(json.dumps({"slowdown": slowdown, "here": pairs.current, "there": pairs.other}) + "\n")
        return pairs

    compare.paired = paired
    try:
        yield
    finally:
        compare.paired = original


if __name__ == "__main__":
    main()
