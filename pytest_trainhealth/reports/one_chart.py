"""One chart for each cause of a training, however many checks noticed it: one cause is one fix.

Every outlet that lists failures groups them with this function, so that all point to the same chart. It sees verdicts
only, and its answer does not depend on the order in which they arrived: workers report in any.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ..records.verdict import CERTAINTY_ORDER, Verdict
from ..settings import CHECKS


class Chart(NamedTuple):
    """Which of the verdicts that were given gets the chart, and which point to it (their places in the list)."""

    shown: int
    pointing: tuple[int, ...] = ()


def one_chart_each(found: Sequence[tuple[Hashable, Verdict]]) -> list[Chart]:
    """Of verdicts, each with what tells its training from others (a test's node id, say), those that failed.

    The surest verdict gets the chart; among equally sure ones that of the check which is listed first. The charts are
    in the order of the list, by the first of their verdicts.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, (training, verdict) in enumerate(found):
        if verdict.failed:
            groups.setdefault((training, *_what_to_fix(verdict)), []).append(number)
    charts = []
    for members in groups.values():
        shown = min(members, key=lambda number: (*doubt(found[number][1]), _turn(found[number][1]), number))
        charts.append(Chart(shown, tuple(number for number in members if number != shown)))
    return charts


def doubt(verdict: Verdict) -> tuple[int, int]:
    """Small for what is sure, and among equals for what was investigated first."""
    if not verdict.findings:
        return len(CERTAINTY_ORDER), 0
    return CERTAINTY_ORDER[verdict.findings[0].certainty], verdict.findings[0].rank


def main_cause(verdict: Verdict) -> str | None:
    return verdict.findings[0].cause if verdict.findings else None


def _what_to_fix(verdict: Verdict) -> tuple[Hashable, ...]:
    """The cause and the line it is at: the same cause at another line is another thing to mend.

    Where no cause is known, every check stands for itself: its symptom is all there is.
    """
    if not verdict.findings:
        return (None, verdict.check)
    place = verdict.findings[0].location
    return (verdict.findings[0].cause, None if place is None else (place.file, place.line))


def _turn(verdict: Verdict) -> int:
    """Checks are listed in one order everywhere; of one that this release does not know, last."""
    order = list(CHECKS)
    return order.index(verdict.check) if verdict.check in order else len(order)
