"""What would help a training: a change that was tried and what it gained, or a remark that nobody has measured.

Advice is never a failure. Frozen, standard library only, JSON both ways: it travels in a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: "gain": tried, and better on seeds that had no part in choosing it. "no gain": tried, and not better beyond noise.
#: "not tried": the statement says why. "not measured": a remark about how the model is built, and no more than that.
Status = Literal["gain", "no gain", "not tried", "not measured"]


@dataclass(frozen=True)
class Advice:
    """One change, with what it gains."""

    #: What is changed, in a few words: "learning rate x 10".
    change: str
    status: Status
    statement: str
    #: Lines to paste.
    code: tuple[str, ...] = ()
    #: `gain` with `low` and `high`: how many times sooner the same loss is reached, and the interval over seeds.
    #: `steps` and `speed` are its two factors: in steps, and in seconds for a step.
    figures: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        return self.status in ("gain", "no gain")

    def __str__(self) -> str:
        return f"{self.change}: {self.statement}"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Advice:
        figures = {name: float(value) if isinstance(value, str) else value for name, value in data["figures"].items()}
        return cls(data["change"], data["status"], data["statement"], tuple(data["code"]), figures)


@dataclass(frozen=True)
class TimedRun:
    """One run, as far as advice needs it."""

    losses: tuple[float, ...] = ()
    #: Of a step, with what it waits for data.
    seconds: float = 0.0
    samples: int | None = None
    #: Bytes that are kept for the backward pass, at most.
    kept: int | None = None
    #: What ended it early: an exception, NaN, the budget.
    broken: str = ""
    #: The time budget ended it: it shows nothing, and is not kept.
    cut_short: bool = False


@dataclass(frozen=True)
class PairOfRuns:
    """The training as it is and with a change, from the same start, one right after the other."""

    seed: int
    unchanged: TimedRun
    changed: TimedRun
