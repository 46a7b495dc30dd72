"""How one run is to be made: how long, how closely it is looked at, and what is changed about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..observe.run.run import Run
from ..records.intervention import Condition, Cure
from ..records.trace import Trace

if TYPE_CHECKING:
    from .training_program import TrainingRun


def never(trace: Trace) -> bool:
    """For a plan that takes all its steps, whatever comes."""
    return False


@dataclass(frozen=True)
class RunPlan:
    """How long and how closely to look."""

    max_steps: int
    signals: tuple[str, ...] = ()
    one_batch: bool = True
    stop_when: Callable[[Trace], bool] = never
    cures: tuple[Cure, ...] = ()
    #: What the training is to be judged under.
    conditions: tuple[Condition, ...] = ()
    seed_offset: int = 0
    deadline: float = math.inf
    #: For the message, should the user's code raise.
    purpose: str = ""
    device: torch.device | None = None
    #: Look at all parameters after every step, to know at which one they turned bad.
    every_step: bool = False
    #: Every step of a watched test begins with its forward pass, so that each is as long as the others. Otherwise only
    #: sampled ones do: it takes a hook on every module.
    from_forward: bool = False
    #: Keep an exception of the user's code in the trace instead of raising it.
    catch_errors: bool = False
    #: Look closely at this step too.
    look_closely_at: int | None = None
    #: Calls the step again and again; pytest-benchmark's clock, or a plain loop.
    timer: Callable[[Callable[[], object], int], None] | None = None
    #: Wrapped around the one step of this number: the microscope.
    around_step: Mapping[int, Callable[[Run], Any]] = field(default_factory=dict)
    #: Given the microscope, gives one that first copies what the step begins with: for a reproducer.
    capture: Callable[[Callable[[Run], Any]], Callable[[Run], Any]] | None = None
    #: Puts a new run right before a step of an earlier one, and gives the batch of that step.
    resume_from: Callable[[TrainingRun], Any] | None = None

    @property
    def interventions(self) -> tuple[Condition | Cure, ...]:
        """In the order in which they are installed: a cure acts on what the conditions make of a run."""
        return (*self.conditions, *self.cures)
