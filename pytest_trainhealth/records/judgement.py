"""What a check may say about a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .intervention import Cure
from .trace import Trace
from .verdict import Symptom


@dataclass(frozen=True)
class Passed:
    notes: tuple[str, ...] = ()
    figures: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class CouldNotJudge:
    reason: str
    figures: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class OtherNumbers:
    """A control that changes nothing but the random numbers: those of the weights, the batches and the steps."""

    label: str
    seed_offset: int


@dataclass(frozen=True)
class NeedsControl:
    """The trace alone cannot decide; together with the same run with this control it can."""

    control: Cure | OtherNumbers
    #: One run of it serves every re-run with a cure as well.
    once: bool = False
    #: It may stop as soon as it keeps the promise, instead of taking as many steps as the run it is compared with.
    may_stop: bool = False
    #: How many steps it takes. None: as many as the run it is compared with.
    steps: int | None = None


@dataclass(frozen=True)
class FailIfConfirmed:
    """Odd, but healthy trainings may look like this: an alarm only if a cause is confirmed."""

    symptom: Symptom
    #: The verdict where none is.
    otherwise: Passed | CouldNotJudge
    #: A learning rate may be the cause, though the loss is not unstable.
    rates: bool = False


@dataclass(frozen=True)
class FailedRun:
    """What a re-run with a cure is compared with: the original run, and what was wrong with it."""

    trace: Trace
    symptom: Symptom


NO_CONTROLS: Mapping[str, Trace] = {}
#: Along with a run with a cure there is always this one: the run without it.
UNTREATED = "untreated"

Judgement = Passed | Symptom | CouldNotJudge | FailIfConfirmed | NeedsControl
