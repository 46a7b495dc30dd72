"""One figure of the page, before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import wording
from ...records.recorded import Curve, Recorded
from ...records.verdict import Verdict
from . import specs

#: Verdicts, each with what it has kept of its run.
JudgedRuns = Sequence[tuple[Verdict, Recorded]]


@dataclass(frozen=True)
class Table:
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figure:
    title: str
    #: In full sentences, what the plot shows.
    says: str
    spec: specs.Spec | None = None
    #: What the numbers at the ends of lines stand for.
    legend: tuple[str, ...] = ()
    table: Table | None = None


def drawable(curve: Curve | None) -> list[tuple[float, float]]:
    if curve is None:
        return []
    return [(step, value) for step, value in zip(curve.steps, curve.values, strict=True) if specs.can_be_drawn(value)]


def cell(value: float | None) -> str:
    return "none" if value is None else wording.short(value)
