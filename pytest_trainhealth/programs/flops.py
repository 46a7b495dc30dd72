"""Floating point operations of one step: counted in a run of its own, so that nothing of it is timed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch.utils.flop_counter import FlopCounterMode

from .plan import RunPlan

if TYPE_CHECKING:
    from .training_program import TrainingProgram


def count_flops(program: TrainingProgram, plan: RunPlan) -> float | None:
    """Of the first step. None where it cannot be run again, does not bear being counted, or has nothing to count."""
    if not program.repeatable:
        return None
    counter = FlopCounterMode(display=False)
    once = replace(plan.plain(), treatment=plan.treatment, max_steps=1, catch_errors=True)
    trace = program.record(once.around(0, lambda run: counter))
    total = float(counter.get_total_flops())
    return total if trace.crash is None and trace.steps == 1 and total else None
