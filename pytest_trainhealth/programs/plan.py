"""How to make one run: how long it is, how closely it is observed, what is changed about it, what wraps its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch

from ..budget.budget import Budget
from ..observe.run.run import Run
from ..records.intervention import Condition, Cure
from ..records.trace import Trace

if TYPE_CHECKING:
    from .training_program import TrainingRun

#: Wrapped around one step: the microscope, or a counter of operations.
Around = Callable[[Run], Any]


class Timer(Protocol):
    """Times the steps of a run: pytest-benchmark's clock, or another."""

    def drive(self, once: Callable[[], object], most: int) -> None:
        """Call `once` again and again, at most `most` times."""

    def finished(self, trace: Trace, *, watched: bool) -> None:
        """Receives the run that was timed, once it has been judged."""


def never(trace: Trace) -> bool:
    """For a plan that takes all its steps, whatever happens."""
    return False


@dataclass(frozen=True)
class Look:
    """How closely a run is observed."""

    #: Names of signals (`observe/signals`).
    signals: tuple[str, ...] = ()
    #: Check all parameters after every step, to find the step at which they turned bad.
    every_step: bool = False
    #: Look closely at this step, too.
    closely_at: int | None = None
    #: Let every step of a watched test begin with its forward pass, so that all cover the same work. Otherwise only
    #: sampled steps do: it takes a hook on every module.
    from_forward: bool = False
    #: The step of `closely_at` is known to raise: see every call in it.
    at_an_error: bool = False
    #: Whether an evaluation beside the steps has shown all that it can, though the run goes on. None: it goes on, too.
    evaluated_enough: Callable[[Trace], bool] | None = None
    #: How many batches a look through the data reads. None: as many as are cheap.
    most_batches: int | None = None
    #: For whoever waits: it is not the first run.
    closer: bool = False


@dataclass(frozen=True)
class Treatment:
    """What is changed about a run."""

    cures: tuple[Cure, ...] = ()
    #: The circumstances under which the training is judged.
    conditions: tuple[Condition, ...] = ()

    @property
    def interventions(self) -> tuple[Condition | Cure, ...]:
        """In the order of installation: a cure acts on a run that the conditions have already changed."""
        return (*self.conditions, *self.cures)


@dataclass(frozen=True)
class Wrap:
    """What is wrapped around the steps of a run."""

    timer: Timer | None = None
    #: By the number of the step to wrap.
    around_step: Mapping[int, Around] = field(default_factory=dict)
    #: Takes the microscope, and returns one that first copies the state before the step: for a reproducer.
    capture: Callable[[Around], Around] | None = None
    #: Puts a new run into the state right before a step of an earlier run, and returns the batch of that step.
    resume_from: Callable[[TrainingRun], Any] | None = None


@dataclass(frozen=True)
class RunPlan:
    """How long a run is, and everything else about it. The methods return plans for other runs of the same kind."""

    max_steps: int
    look: Look = Look()
    treatment: Treatment = Treatment()
    wrap: Wrap = Wrap()
    one_batch: bool = True
    stop_when: Callable[[Trace], bool] = never
    seed_offset: int = 0
    #: The first pass through a list of batches begins in its middle, so that another order is seen, too.
    begins_half_way: bool = False
    budget: Budget = field(default_factory=Budget)
    #: For the message if the user's code raises.
    purpose: str = ""
    device: torch.device | None = None
    #: Record an exception of the user's code in the trace instead of raising it.
    catch_errors: bool = False
    #: A run with a cure may take more steps: one that merely puts a failure off must have the time to fail.
    cured_steps: int | None = None
    #: The most that a loop takes which updates in each step, for whoever waits: the others get many times as long.
    usual_steps: int | None = None

    @property
    def shown_steps(self) -> int:
        return min(self.max_steps, self.usual_steps or self.max_steps)

    @property
    def described(self) -> str:
        """What kind of run this is, for whoever waits for it; empty for the first."""
        changed = [each.label for each in self.treatment.interventions]
        if changed:
            return f"with {', '.join(changed)}"
        if self.look.closer or self.look.closely_at is not None or self.look.every_step or self.wrap.around_step:
            return "closer look"
        return "second run, other random numbers" if self.seed_offset else ""

    def untimed(self) -> RunPlan:
        """For every run but the first: timing a re-run, too, would mix two trainings in one table."""
        return replace(self, wrap=replace(self.wrap, timer=None))

    def plain(self) -> RunPlan:
        """The bare training: no signals, no treatment, and nothing wrapped around a step."""
        return replace(self, look=Look(), treatment=Treatment(), wrap=Wrap())

    def until(self, steps: int) -> RunPlan:
        """Take exactly this many steps, whatever happens."""
        return replace(self, max_steps=steps, cured_steps=None, stop_when=never)

    def looking(self, look: Look) -> RunPlan:
        return replace(self, look=look)

    def curing(self, *cures: Cure) -> RunPlan:
        steps = self.max_steps if self.cured_steps is None or not cures else max(self.max_steps, self.cured_steps)
        return replace(self, max_steps=steps, treatment=replace(self.treatment, cures=cures))

    def under(self, *conditions: Condition) -> RunPlan:
        return replace(self, treatment=replace(self.treatment, conditions=conditions))

    def around(self, step: int, around: Around) -> RunPlan:
        return replace(self, wrap=replace(self.wrap, around_step={step: around}))
