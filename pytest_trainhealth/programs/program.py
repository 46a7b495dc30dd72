"""What a check is run on, however it trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..records.trace import Trace
from .plan import RunPlan
from .start import Start


class Program(Protocol):
    """What can be run again from the same start: a `Training`, or a watched test."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def why_not(self) -> str: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    @property
    def start(self) -> Start | None:
        """Where a training begins. None for a watched test, which runs as a whole and cannot be searched or resumed."""

    @property
    def siblings(self) -> Sequence[Program]:
        """A watched test may train several models, one after the other: those that come after this one."""

    @property
    def first_run(self) -> Trace | None:
        """A watched test was recorded once already, to find out what kind of program it is. None for a `Training`."""

    def record(self, plan: RunPlan) -> Trace:
        """Makes one run from the start. The trace is complete: nothing writes to it any more."""

    def count_flops(self, plan: RunPlan) -> float | None:
        """Floating point operations of the first step. None if they cannot be counted."""
