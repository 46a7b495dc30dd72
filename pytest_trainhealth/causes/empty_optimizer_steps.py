"""empty-optimizer-steps: most steps of the optimizer have no gradient to step with

What happens
    `step()` is called more often than `backward()`: in a loop of its own, or also for batches whose backward pass is
    left out. Most steps do nothing, or only what momentum is left over from the last one. Schedules and step counts run
    ahead of the training.

How severe it is
    High: most of the training time does nothing.

How it is recognised
    Of the optimizer steps, more than half found no gradient, and no backward pass had gone before them since the last.

How to fix it
    One `step()` for each backward pass, or for each group of passes that you accumulate. Look for a condition around
    `backward()` that does not stand around `step()`.

What not to do
    A higher learning rate for the few steps that count.

How to prevent it
    Step where the gradients are made, in the same branch as `backward()`; count steps with a gradient in a test.
    `gradients_flow` does.

When this is wrong
    Several optimizers that are stepped together while they take turns are not reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import unmoved
from ..records.symptoms import NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 3
CURABLE = False
EXPLAINS = (NOT_LEARNING,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    seen = trace.wiring.empty_updates
    if not unmoved.mostly_empty(trace) or seen.not_computed < seen.cleared:
        return None
    backwards, steps = sum(trace.backwards), seen.empty + seen.full
    return Suspicion(
        statement=f"{seen.empty} of {wording.plural(steps, 'optimizer step')} {wording.is_or_are(seen.empty)} empty",
        evidence=(
            Evidence(f"{wording.plural(seen.full, 'step')} had a gradient, {seen.empty} had none", float(seen.empty)),
            Evidence(f"step() was called {steps} times, and backward() {backwards} times", float(backwards)),
        ),
        why="there is no backward pass between most steps",
        places=() if seen.place is None else (seen.place,),
        fix=Fix("one step for each backward pass:", ("loss.backward()", "optimizer.step()", "optimizer.zero_grad()")),
        not_this="a higher learning rate for the few steps that count",
    )
