"""What was measured against another revision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What the profiler lists along with the operators, and whose time goes into calling them.
NO_OPERATORS = ("Optimizer.", "autograd::engine", "ProfilerStep", "enumerate(DataLoader)")


@dataclass(frozen=True)
class OperatorTime:
    """Milliseconds of a step that were an operator's own, on both sides."""

    name: str
    current: float
    other: float

    @property
    def growth(self) -> float:
        return self.current - self.other


@dataclass(frozen=True)
class Comparison:
    """`ratio`: how many times as long a step takes here as there, with its confidence interval."""

    revision: str
    outcome: Literal["slower", "not slower", "too wide", "could not compare"]
    tolerance: float = 0.1
    #: Why it could not be compared.
    reason: str = ""
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0
    pairs: int = 0
    steps_a_round: int = 0
    #: Seconds of a step on both sides, in the turn with the median ratio.
    current: float = 0.0
    other: float = 0.0
    #: What else differs: uncommitted changes, losses, dependencies.
    notes: tuple[str, ...] = ()
    #: The operators that take longer here, those that grew most first.
    grown: tuple[OperatorTime, ...] = ()
    #: Seconds of a step that were spent waiting for data.
    wait_current: float = 0.0
    wait_other: float = 0.0
