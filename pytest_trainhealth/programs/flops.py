"""Floating point operations of one step: counted in a separate run, so that counting is not timed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch.utils.flop_counter import FlopCounterMode

from .plan import RunPlan

if TYPE_CHECKING:
    from .training_program import TrainingProgram


def count_flops(program: TrainingProgram, plan: RunPlan) -> float | None:
    """Operations of the first step. None if it cannot be run again, fails while counted, or has nothing to count."""
    if not program.repeatable:
        return None
    counter = FlopCounterMode(display=False)
    once = replace(plan.plain(), treatment=plan.treatment, max_steps=1, catch_errors=True)
    trace = program.record(once.around(0, lambda run: counter))
    total = float(counter.get_total_flops())
    return total if trace.crash is None and trace.steps == 1 and total else None
