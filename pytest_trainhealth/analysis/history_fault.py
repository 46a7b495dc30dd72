"""What is wrong with a finished run, as far as its log shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..records.verdict import Evidence, Place, Severity, Symptom

#: The first four are plain facts; the others are shapes, with limits.
Kind = Literal[
    "nonfinite", "no rate", "still", "chance",
    "diverged", "growing swings", "swings together", "gradients", "rate gone", "overfitting",
    "tiny rate", "no gradients", "unbounded", "endless warm-up", "slower",
]  # fmt: skip


@dataclass(frozen=True)
class HistoryFault:
    kind: Kind
    #: A row of the table of symptoms.
    category: str
    severity: Severity
    #: The measured value with its limit, and where.
    summary: str
    headline: str
    measured: float
    limit: float
    evidence: tuple[Evidence, ...] = ()
    #: The line of the log that shows it first.
    place: Place | None = None
    #: The step at which it begins, in the unit of the series that shows it.
    step: float = 0.0

    @property
    def symptom(self) -> Symptom:
        return Symptom(self.summary, self.category, self.measured, self.limit, self.severity, self.headline)
