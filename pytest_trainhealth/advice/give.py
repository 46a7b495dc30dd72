"""All advice on one training: what was measured, and beside it what a look at the model says."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.architecture import remarks
from ..engine.request import AdviceRequest
from ..observe.run.hanging import DidNotComeBack
from ..programs.plan import Look, RunPlan
from ..programs.program import Program
from ..programs.start import CannotStartAgain
from ..records.advice import Advice
from ..records.verdict import Verdict
from .advise import EVERYTHING, Panel, measured_advice

#: What the look at the model needs, at one step.
LOOK = Look(("architecture", "activations", "batch_norms", "loss_calls"))


def give_advice(
    program: Program, plan: RunPlan, wanted: AdviceRequest, subject: object, *, alone: bool
) -> tuple[Advice, ...]:
    """`subject`: what the user gave, a training or what builds it. `alone`: nothing else is run on the machine."""
    panel = Panel(wanted.kept_in, wanted.progress, alone=alone, factory=subject)
    try:
        seen = _architecture(program, plan)
        measured = measured_advice(program, replace(plan, max_steps=wanted.steps), panel)
    except CannotStartAgain as error:
        return (Advice(EVERYTHING, "not tried", str(error)),)
    return (*measured, *seen)


def _architecture(program: Program, plan: RunPlan) -> tuple[Advice, ...]:
    """Of a watched test, the run that found out that it is one has looked already."""
    trace = program.first_run
    if trace is None and program.repeatable:
        try:
            trace = program.record(replace(plan.until(1).looking(LOOK), catch_errors=True))
        except DidNotComeBack:
            return ()
    return () if trace is None or trace.crash is not None else tuple(remarks(trace))


def nothing_tried(verdict: Verdict, reason: str = "") -> tuple[Advice, ...]:
    """For a check that has failed, or that has no training to change."""
    why = reason or (
        f"{verdict.check} failed, and that comes first: what helps a sick training hides its fault"
        if verdict.failed
        else f"{verdict.check} has no training that can be changed"
    )
    return (Advice(EVERYTHING, "not tried", why),)
