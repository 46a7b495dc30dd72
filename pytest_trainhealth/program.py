"""What a check is run on, whichever way it trains."""

from __future__ import annotations

from typing import Protocol

from .run_plan import Plan
from .trace import Trace


class Program(Protocol):
    """What can be run again from the same start: a `Training`, or a watched test."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def why_not(self) -> str: ...

    @property
    def remarks(self) -> tuple[str, ...]: ...

    def record(self, plan: Plan) -> Trace: ...
