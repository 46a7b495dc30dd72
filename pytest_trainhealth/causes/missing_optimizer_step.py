"""missing-optimizer-step: gradients are computed, but no optimizer steps

What happens
    `backward()` fills the gradients and nobody uses them. The loss stays where it is, up to the noise of dropout
    and shuffling.

How it is recognised
    Backward passes, gradients, no optimizer step, and no parameter that moves. The re-run takes the step at the end
    of each training step.

How to fix it
    Call `optimizer.step()` after `backward()`. Look for an early `return` or `continue`, a condition such as
    `if (i + 1) % accumulate == 0` that is never true, or an optimizer that was made but not used.

What not to do
    Another learning rate or another optimizer: none of them is ever asked.

When this is wrong
    Parameters that are updated by hand move, and then nothing is said. A loop that accumulates over more than 64 calls
    before its first step looks like this: hand in fewer micro-batches for the test.
"""

from __future__ import annotations

from .. import figures, wiring
from ..facts import Cure, Evidence, Fix, Symptom
from ..symptoms import NOT_LEARNING
from ..trace import Trace
from . import Suspicion

RANK = 1
EXPLAINS = (NOT_LEARNING,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if trace.update_count or not any(trace.backwards) or not wiring.nothing_moves(trace):
        return None
    if not any(p.has_gradient for p in trace.trainable):
        return None
    norm = wiring.gradient_norm(trace, 0)
    backwards = sum(trace.backwards)
    passes = "1 backward pass" if backwards == 1 else f"{figures.count(backwards)} backward passes"
    known = list(trace.optimizers.values())
    name = known[0].kind if known else "the optimizer"
    places = tuple(o.place for o in known if o.place is not None)
    return Suspicion(
        statement=f"{name} never steps",
        evidence=(
            Evidence(f"{passes}, 0 optimizer steps in {figures.plural(trace.steps, 'step')}", 0.0),
            Evidence(
                f"gradients are there (norm {figures.short(norm)} at the first step), but none of "
                f"{figures.plural(len(trace.trainable), 'parameter')} moved",
                norm,
            ),
        ),
        why="optimizer.step() is not reached",
        places=places,
        fix=Fix("step after the backward pass", ("loss.backward()", "optimizer.step()")),
        not_this="another optimizer or learning rate: nobody asks it",
        cures=(Cure("optimizer_step", "optimizer.step() after each step"),) if known else (),
    )
