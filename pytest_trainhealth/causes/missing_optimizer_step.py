"""missing-optimizer-step: gradients are computed, but no optimizer steps

What happens
    `backward()` fills the gradients and nothing uses them. The loss stays where it is, up to the noise of dropout and
    shuffling.

How severe it is
    High: nothing is learnt, and nothing raises.

How it is recognised
    Backward passes, gradients, no optimizer step, and no parameter that moves. The re-run takes the step at the end
    of each training step.

How to fix it
    Call `optimizer.step()` after `backward()`. Look for an early `return` or `continue`, a condition such as
    `if (i + 1) % accumulate == 0` that is never true, or an optimizer that was made but not used.

What not to do
    Another learning rate or another optimizer: neither is ever used.

How to prevent it
    Let one function be the whole step, and test that one: `gradients_flow` with `Training(step=...)` asks whether
    parameters moved.

When this is wrong
    Parameters that are updated by hand move, and then nothing is reported. A loop that accumulates over more than 64
    calls before its first step looks like this: use fewer micro-batches in the test.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import OptimizerRecord
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 1
EXPLAINS = (NOT_LEARNING,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    idle = wiring.idle_optimizers(trace)
    if idle:
        return _one_of_several(trace, idle)
    if trace.update_count or not any(trace.backwards) or not wiring.nothing_moves(trace):
        return None
    if not any(p.has_gradient for p in trace.trainable):
        return None
    norm = wiring.gradient_norm(trace, 0)
    backwards = sum(trace.backwards)
    passes = "1 backward pass" if backwards == 1 else f"{wording.count(backwards)} backward passes"
    known = list(trace.wiring.optimizers.values())
    name = known[0].kind if known else "the optimizer"
    places = tuple(o.place for o in known if o.place is not None)
    return Suspicion(
        statement=f"{name} never steps",
        evidence=(
            Evidence(f"{passes}, 0 optimizer steps in {wording.plural(trace.steps, 'step')}", 0.0),
            Evidence(
                f"gradients are there (norm {wording.short(norm)} at the first step), but none of "
                f"{wording.plural(len(trace.trainable), 'parameter')} moved",
                norm,
            ),
        ),
        why="optimizer.step() is not reached",
        places=places,
        fix=Fix("step after the backward pass", ("loss.backward()", "optimizer.step()")),
        not_this="another optimizer or learning rate: neither is ever used",
        cures=(Cure("optimizer_step", "optimizer.step() after each step"),) if known else (),
    )


def _one_of_several(trace: Trace, idle: list[OptimizerRecord]) -> Suspicion:
    labels = [o.label for o in idle]
    held = [p for p in trace.trainable if p.has_gradient and not p.moved and set(p.held_by) <= set(labels)]
    stepped = sum(o.steps for o in trace.wiring.optimizers.values())
    return Suspicion(
        statement=f"{wording.names(labels)} never steps, but the other optimizers do",
        evidence=(
            Evidence(f"0 steps of {wording.names(labels)}, {wording.count(stepped)} of the others", 0.0),
            Evidence(f"{wording.names([p.name for p in held])} got gradients, but never moved", float(len(held))),
        ),
        why="its step() is not reached",
        places=tuple(o.place for o in idle if o.place is not None),
        fix=Fix(
            "step with it too, after its backward pass",
            (f"{labels[0]}.step()" if labels[0].isidentifier() else "optimizer.step()",),
        ),
        not_this="another learning rate for what never moves",
        cures=(Cure("optimizer_step", f"{labels[0]} steps too", {"only": labels}),),
    )
