"""One side of a comparison: a program, run once for each seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..programs.plan import Look, RunPlan
from ..programs.program import Program
from ..records.improvement import SeedRun, Validation
from ..records.intervention import Condition
from ..records.trace import Trace

#: Looks at the validation data. By judgement: 20 make a curve, and the last 5 of them are a quarter of the run.
POINTS = 20
#: From one seed to the next. By judgement: any would do; 104,729 is the 10,000th prime, far from seeds in use.
_APART = 104_729


def runs_of(
    program: Program, plan: RunPlan, *, seeds: int, measure: Callable[[Any], float] | None = None
) -> tuple[SeedRun, ...]:
    """Each from its own seed, the same on both sides. Fewer where the time is used up, and the last says so."""
    every = max(1, plan.max_steps // POINTS)
    options = {"every": every, "measure": measure}
    found: list[SeedRun] = []
    for number in range(seeds):
        each = replace(plan, seed_offset=_APART * number, look=Look()).under(
            Condition("validated", "validated", options)
        )
        trace = program.record(each)
        found.append(_run(trace))
        if trace.cut_short:
            break
    return tuple(found)


def _run(trace: Trace) -> SeedRun:
    validation = trace.state.validation or Validation(why_not="nothing was validated")
    stopped = trace.cut_short
    if not trace.loss_connected:
        stopped = "the loss depends on no trainable parameter"
    return SeedRun(tuple(trace.losses), validation, trace.finite, stopped, trace.batch_size)


def stopped(why: str) -> tuple[SeedRun, ...]:
    """A side that came to nothing."""
    return (SeedRun((), Validation(why_not=why), stopped=why),)
