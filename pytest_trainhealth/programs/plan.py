"""How one run is to be made: how long, how closely looked at, what is changed about it, and what goes around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch

from ..observe.run.run import Run
from ..records.intervention import Condition, Cure
from ..records.trace import Trace

if TYPE_CHECKING:
    from .training_program import TrainingRun

#: Wrapped around one step: the microscope, or a counter of operations.
Around = Callable[[Run], Any]


class Timer(Protocol):
    """Keeps the time of a run's steps: pytest-benchmark's clock, or anybody else's."""

    def drive(self, once: Callable[[], object], most: int) -> None:
        """Call `once` again and again, `most` times at the most."""

    def finished(self, trace: Trace, *, watched: bool) -> None:
        """The run that was timed, once it has been judged."""


def never(trace: Trace) -> bool:
    """For a plan that takes all its steps, whatever comes."""
    return False


@dataclass(frozen=True)
class Look:
    """How closely a run is looked at."""

    #: Names of signals (`observe/signals`).
    signals: tuple[str, ...] = ()
    #: All parameters after every step, to know at which one they turned bad.
    every_step: bool = False
    #: Closely at this step too.
    closely_at: int | None = None
    #: Every step of a watched test begins with its forward pass, so that each is as long as the others. Otherwise only
    #: sampled ones do: it takes a hook on every module.
    from_forward: bool = False


@dataclass(frozen=True)
class Treatment:
    """What is changed about a run."""

    cures: tuple[Cure, ...] = ()
    #: What the training is to be judged under.
    conditions: tuple[Condition, ...] = ()

    @property
    def interventions(self) -> tuple[Condition | Cure, ...]:
        """In the order in which they are installed: a cure acts on what the conditions make of a run."""
        return (*self.conditions, *self.cures)


@dataclass(frozen=True)
class Wrap:
    """What goes around the steps of a run."""

    timer: Timer | None = None
    #: By the number of the one step that it goes around.
    around_step: Mapping[int, Around] = field(default_factory=dict)
    #: Given the microscope, gives one that first copies what the step begins with: for a reproducer.
    capture: Callable[[Around], Around] | None = None
    #: Puts a new run right before a step of an earlier one, and gives the batch of that step.
    resume_from: Callable[[TrainingRun], Any] | None = None


@dataclass(frozen=True)
class RunPlan:
    """How long a run is to be, and everything else about it. The methods give plans for other runs of the same kind."""

    max_steps: int
    look: Look = Look()
    treatment: Treatment = Treatment()
    wrap: Wrap = Wrap()
    one_batch: bool = True
    stop_when: Callable[[Trace], bool] = never
    seed_offset: int = 0
    deadline: float = math.inf
    #: For the message, should the user's code raise.
    purpose: str = ""
    device: torch.device | None = None
    #: Keep an exception of the user's code in the trace instead of raising it.
    catch_errors: bool = False

    def untimed(self) -> RunPlan:
        """For any run but the first: a clock that timed a re-run would mix two trainings in one table."""
        return replace(self, wrap=replace(self.wrap, timer=None))

    def plain(self) -> RunPlan:
        """The bare training: nobody looks, nothing is treated, and nothing goes around a step."""
        return replace(self, look=Look(), treatment=Treatment(), wrap=Wrap())

    def until(self, steps: int) -> RunPlan:
        """All of these steps, whatever comes."""
        return replace(self, max_steps=steps, stop_when=never)

    def looking(self, look: Look) -> RunPlan:
        return replace(self, look=look)

    def curing(self, *cures: Cure) -> RunPlan:
        return replace(self, treatment=replace(self.treatment, cures=cures))

    def under(self, *conditions: Condition) -> RunPlan:
        return replace(self, treatment=replace(self.treatment, conditions=conditions))

    def around(self, step: int, around: Around) -> RunPlan:
        return replace(self, wrap=replace(self.wrap, around_step={step: around}))
