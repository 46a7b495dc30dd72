"""empty-optimizer-steps: most steps of the optimizer have no gradient to step with

What happens
    `step()` is called more often than `backward()`: in a loop of its own, or also for batches whose backward pass is
    left out. Most steps do nothing, or only what momentum is left over from the last one. Schedules and step counts run
    ahead of the training. The same goes for one of several optimizers that is stepped between its turns, as an actor's
    that learns at every third step only: where its gradients were set to zero, momentum carries it on and weight decay
    shrinks it.

How severe it is
    High: most of the training time does nothing.

How it is recognised
    Of the optimizer steps, more than half found no gradient, and no backward pass had gone before them since the last.
    Of one that has turns: no backward pass had come to its parameters, all gradients were 0, and they moved.

How to fix it
    One `step()` for each backward pass, or for each group of passes that you accumulate. Look for a condition around
    `backward()` that does not stand around `step()`.

What not to do
    A higher learning rate for the few steps that count.

How to prevent it
    Step where the gradients are made, in the same branch as `backward()`; count steps with a gradient in a test.
    `gradients_flow` does.

When this is wrong
    Several optimizers that are stepped together while they take turns are not reported if steps out of turn move
    nothing, as with gradients that are None (`zero_grad()` as it comes).
"""

from __future__ import annotations

from .. import wording
from ..analysis import unmoved
from ..records.symptoms import NOT_LEARNING, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 3
CURABLE = False
EXPLAINS = (NOT_LEARNING, SILENT)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    return _most(trace) or _out_of_turn(trace)


def _out_of_turn(trace: Trace) -> Suspicion | None:
    seen = unmoved.coasts(trace)
    if seen is None:
        return None
    steps = wording.plural(seen.coasted + seen.full, "step")
    return Suspicion(
        statement=f"{seen.coasted} of {steps} of {seen.optimizer} have no gradient",
        evidence=(
            Evidence(
                f"{seen.optimizer} stepped {wording.plural(seen.full, 'time')} with a gradient, and {seen.coasted} "
                "times with one of 0 that moved its parameters all the same",
                float(seen.coasted),
                seen.place,
            ),
            Evidence("no backward pass had come to its parameters since its last step"),
        ),
        why="between its turns it goes on with momentum and weight decay",
        places=() if seen.place is None else (seen.place,),
        fix=Fix(
            "step it only when it has had its backward pass:",
            ("if due:", "    loss.backward()", "    optimizer.step()"),
        ),
        not_this="another learning rate or weight decay for it: how far it coasts depends on the pauses",
    )


def _most(trace: Trace) -> Suspicion | None:
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
