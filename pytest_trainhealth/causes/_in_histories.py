"""What causes have to say about a finished run, where several say the same."""

from __future__ import annotations

from .. import wording
from ..analysis.history_fault import HistoryFault
from ..analysis.history_rates import RateCourse, course
from ..analysis.history_roles import Roles
from ..records.history import History
from ..records.verdict import Evidence, Place


def places(fault: HistoryFault) -> tuple[Place, ...]:
    return () if fault.place is None else (fault.place,)


def rate_course(history: History) -> RateCourse | None:
    return course(Roles(history))


def rate_at(found: RateCourse, step: float) -> float:
    """What the rate was at a step, as far as the log says."""
    known = [value for value, each in zip(found.series.values, found.series.steps, strict=True) if each <= step]
    return known[-1] if known else found.series.values[0]


def rate_evidence(history: History, found: RateCourse) -> Evidence:
    first, last = found.series.values[0], found.series.values[-1]
    course_of_it = f"stays at {wording.short(last)}" if found.kind == "constant" else (
        f"goes from {wording.short(first)} to {wording.short(last)}"
    )  # fmt: skip
    return Evidence(f"{found.series.name} {course_of_it}", last, history.place(found.series.lines[-1]))
