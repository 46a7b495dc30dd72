"""What a check is run on, whichever way it trains."""

from __future__ import annotations

from typing import Protocol

from ..records.trace import Trace
from .plan import RunPlan


class Program(Protocol):
    """What can be run again from the same start: a `Training`, or a watched test."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def why_not(self) -> str: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    def record(self, plan: RunPlan) -> Trace: ...
