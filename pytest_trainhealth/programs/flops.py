"""Floating point operations of one step: counted in a run of its own, so that nothing of it is timed."""

from __future__ import annotations

from dataclasses import replace

from torch.utils.flop_counter import FlopCounterMode

from .plan import Plan
from .training_program import TrainingProgram


def count_flops(program: TrainingProgram, plan: Plan) -> float | None:
    """Of the first step. None where it cannot be run again, does not bear being counted, or has nothing to count."""
    if not program.repeatable:
        return None
    counter = FlopCounterMode(display=False)
    counted = {0: lambda run: counter}
    once = replace(plan, longest=1, signals=(), drive=None, keeps=None, keeps_crash=True, at_step=counted)
    trace = program.record(once)
    total = float(counter.get_total_flops())
    return total if trace.crash is None and trace.steps == 1 and total else None
