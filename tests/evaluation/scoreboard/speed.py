"""How long a whole diagnosis takes, compared with the bare loop of the same training."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from .counting import Judged

#: What DESIGN.md promises for a healthy training.
MOST_FOR_HEALTHY = 3.0


def ratios(all_judged: Iterable[Judged]) -> dict[str, list[float]]:
    """Processor time of the battery, divided by that of as many bare steps as its longest check took on the healthy
    training.

    A faulty program is compared with the bare loop of its twin: how many steps its own run lasted until it broke says
    nothing about the cost of the training.
    """
    every = list(all_judged)
    bare = {(j.case.id, j.result.seed): j.result.bare for j in every if j.result.bare > 0}
    found: dict[str, list[float]] = {"healthy": [], "faulty": []}
    for j in every:
        usual = bare.get((f"twin/{j.case.name}" if j.case.kind == "fault" else j.case.id, j.result.seed))
        if usual and not j.result.error:
            found["faulty" if j.case.kind == "fault" else "healthy"].append(j.result.cpu / usual)
    return found


def usual(of: list[float]) -> str:
    if not of:
        return "not measured"
    ranked = sorted(of)
    low, high = ranked[len(ranked) // 10], ranked[len(ranked) * 9 // 10]
    return f"{median(ranked):.1f} x (one in ten below {low:.1f} x, one in ten above {high:.1f} x)"
