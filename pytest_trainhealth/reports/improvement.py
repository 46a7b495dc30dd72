"""Before and after, laid out: the verdict in one line, the figures of both sides, what was asked for, the curves."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from ..records.improvement import Course, Improvement
from ..wording import loss, plural
from .curves import plot


def improvement_lines(found: Improvement) -> Iterator[str]:
    """All but the first line, each ready to be shown as it is."""
    yield from _table(found)
    demands = [(words, "yes" if shown else "no") for words, shown in found.demands if shown is not None]
    wide = max((len(words) for words, _ in demands), default=0)
    yield from (f"  {words:<{wide}}   {answer}" for words, answer in demands)
    curves = {course.name: course.curve for course in (found.before, found.after) if course.curve}
    last = found.points[-1] if found.points else found.steps
    yield from (f"  {line}" for line in plot(curves, last))
    yield from found.notes


def improvement_text(found: Improvement) -> str:
    return "\n".join([found.summary, "", *improvement_lines(found)])


def _table(found: Improvement) -> Iterator[str]:
    wide = max(len(course.name) for course in (found.before, found.after))
    for course in (found.before, found.after):
        if course.results:
            yield f"  {course.name:<{wide}}   {'   '.join(_columns(course, found.judged_by))}"


def _columns(course: Course, judged_by: str) -> Iterator[str]:
    low, high = min(course.results), max(course.results)
    yield f"{judged_by} {loss(fmean(course.results))} ({loss(low)} to {loss(high)})"
    if judged_by != "training loss":
        yield f"training loss {loss(fmean(course.train))}"
    if course.gap is not None:
        yield f"gap {loss(course.gap)}"
    if course.not_finite:
        yield f"{plural(course.not_finite, 'seed')} not finite"
