"""Diagnoses many cases in processes. A case that hangs or dies has a result too."""

from __future__ import annotations

from collections.abc import Sequence

from .diagnosing import Job, diagnosed
from .results import Result, in_short
from .workers import NoAnswer, answers

#: Seconds for one case. The slowest ones take a quarter of it on two busy cores.
LIMIT = 300.0


def run(jobs: Sequence[Job], *, processes: int, limit: float = LIMIT, show: bool = True) -> list[Result]:
    """Results in the order of the jobs, whatever order they end in."""
    found: dict[int, Result] = {}
    for number, answer in answers(diagnosed, jobs, processes=processes, limit=limit):
        case, seed, _ = jobs[number]
        result = Result(case, seed, error=in_short(answer.reason)) if isinstance(answer, NoAnswer) else answer
        found[number] = result
        if show:
            words = result.error or ", ".join(f"{name} ({sure})" for name, sure in result.findings)
            words = words or ("no known cause" if result.failed else "passes")
            print(f"{len(found):>5}/{len(jobs)}  {case} [{seed}]  {words}  {result.seconds:.1f} s", flush=True)
    return [found[number] for number in sorted(found)]
