"""Floating point operations of one step: counted in a run of its own, so that nothing of it is timed."""

from __future__ import annotations

from dataclasses import replace

from torch.utils.flop_counter import FlopCounterMode

from .plan import RunPlan
from .training_program import TrainingProgram


def count_flops(program: TrainingProgram, plan: RunPlan) -> float | None:
    """Of the first step. None where it cannot be run again, does not bear being counted, or has nothing to count."""
    if not program.repeatable:
        return None
    counter = FlopCounterMode(display=False)
    counted = {0: lambda run: counter}
    once = replace(plan, max_steps=1, signals=(), timer=None, capture=None, catch_errors=True, around_step=counted)
    trace = program.record(once)
    total = float(counter.get_total_flops())
    return total if trace.crash is None and trace.steps == 1 and total else None
