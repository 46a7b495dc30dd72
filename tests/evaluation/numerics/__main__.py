"""`python -m tests.evaluation.numerics`: the table of numerically faulty programs; exits with 1 below the bars."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..scoreboard.tables import table
from ..scoreboard.workers import NoAnswer, answers, cores
from .asking import Answer, check_program, numeric

PAGE = Path(__file__).parents[3] / "docs" / "numerics.md"
LEAST_RIGHT_LINES = 0.95
HOW = """\
# NaN and Inf: is the right line named?

Programs of `tests/evaluation/corpus/faults` whose values stop being finite, with what `trains_without_nan` says about
each. Where one operation is to blame, its line is marked in the program, and both have to be named in the first
finding. `python -m tests.evaluation.numerics` makes this page.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.numerics", description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes at a time")
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="parts of names")
    parser.add_argument("--dry", action="store_true", help="print only, write nothing")
    options = parser.parse_args()
    names = [name for name in numeric() if any(part in name for part in options.only)]
    jobs = [(name, seed) for name in names for seed in options.seeds]
    found: dict[int, Answer] = {}
    for number, answer in answers(check_program, jobs, processes=options.jobs, limit=120.0):
        if isinstance(answer, NoAnswer):
            sys.exit(f"{jobs[number][0]}: {answer.reason}")
        found[number] = answer
    every = [found[number] for number in range(len(jobs))]
    text = "\n".join([HOW, f"Seeds {', '.join(map(str, options.seeds))}.\n", rows(every), "", totals(every)])
    print(text)
    if not options.dry:
        PAGE.write_text(text + "\n")
    lines = [a.right_line for a in every if a.right_line is not None]
    good = all(a.found for a in every) and (not lines or sum(lines) >= LEAST_RIGHT_LINES * len(lines))
    return int(not good)


def rows(every: Sequence[Answer]) -> str:
    head = ("program", "cause", "operation", "found", "operation", "line", "cause", "seconds")
    return table(head, [
        (a.name, a.cause, a.operation or "-", *map(_mark, (a.found, a.right_operation, a.right_line, a.right_cause)),
         f"{a.seconds:.1f}")
        for a in every
    ])  # fmt: skip


def totals(every: Sequence[Answer]) -> str:
    def share(what: str, marks: Iterable[bool | None]) -> str:
        counted = [mark for mark in marks if mark is not None]
        return f"{what} {sum(counted)} of {len(counted)} ({sum(counted) / max(len(counted), 1):.1%})"

    return "; ".join((
        share("Found", (a.found for a in every)), share("right operation", (a.right_operation for a in every)),
        share("right line", (a.right_line for a in every)), share("right cause first", (a.right_cause for a in every)),
    )) + "."  # fmt: skip


def _mark(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "**no**"


if __name__ == "__main__":
    sys.exit(main())
