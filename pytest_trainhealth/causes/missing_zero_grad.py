"""missing-zero-grad: gradients add up from step to step

What happens
    `backward()` adds to the existing gradients. Without `zero_grad()` each step follows the sum of all gradients so
    far, like a momentum that never forgets. The loss often falls at first, then overshoots or oscillates.

How severe it is
    High: steps grow with every iteration, and a lower learning rate hides it for a while.

How it is recognised
    A backward pass begins while the gradients that the optimizer has just used are still there, and the optimizer
    then steps with the sum. The same goes for updates by hand and for optimizers of your own: what they have moved
    still has the gradient that moved it when the next backward pass begins; and for LBFGS, between two calls of its
    closure. Or, with several optimizers, one's backward pass goes through the parameters of another and leaves
    gradients there that nothing clears before the other's own pass: a generator's pass leaves on the discriminator how
    to be fooled. The re-run clears them.

How to fix it
    `optimizer.zero_grad()` once per optimizer step, before the first backward pass that belongs to it.

What not to do
    A smaller learning rate or clipping: both hide the growing sum, and the direction stays wrong.

How to prevent it
    Call `zero_grad()` as the first line of the step. A test of the whole step, not of the loss, shows it:
    `overfits_one_batch` with `Training(step=...)`.

When this is wrong
    Gradients that are accumulated on purpose over several backward passes for one step are not reported: only those
    that a step has already used.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import BY_HAND
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 3
EXPLAINS = (INSTABILITY, NOT_LEARNING, PLATEAU, EXPLOSION)

_ORDER = ("optimizer.zero_grad()", "loss.backward()", "optimizer.step()")
_BY_HAND = ("model.zero_grad()", "loss.backward()", "p.data -= rate * p.grad")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    stale = wiring.piling_up(trace)
    if not stale:
        return _from_another(trace)
    label, steps = next(iter(stale.items()))
    evidence = [
        Evidence(
            f"{label} used the previous step's gradients again at steps {', '.join(map(str, steps[:4]))}",
            float(len(steps)),
        )
    ]
    first, last = wiring.gradient_norm(trace, 0), wiring.gradient_norm(trace, 8) or wiring.gradient_norm(trace, 4)
    if last > 2 * first > 0:
        evidence.append(
            Evidence(
                f"the gradient's norm grew from {wording.short(first)} to {wording.short(last)} in a few steps", last
            )
        )
    place = trace.wiring.optimizers[label].place if label in trace.wiring.optimizers else None
    return Suspicion(
        statement=f"{label} steps with the sum of all gradients so far",
        evidence=tuple(evidence),
        why="nothing clears the gradients between steps",
        places=() if place is None else (place,),
        fix=Fix("clear the gradients once per step", _BY_HAND if label == BY_HAND else _ORDER),
        not_this="a smaller learning rate or clipping: the direction stays wrong",
        cures=(
            Cure("zero_gradients", "gradients cleared after each step", {"by_hand": True} if label == BY_HAND else {}),
        ),
    )


def _from_another(trace: Trace) -> Suspicion | None:
    for label, leaks in wiring.leaking(trace).items():
        giver, steps = next(iter(leaks.values())), list(leaks)
        place = trace.wiring.optimizers[label].place if label in trace.wiring.optimizers else None
        return Suspicion(
            statement=f"{label} steps with gradients that the backward pass of {giver} left on its parameters",
            evidence=(
                Evidence(
                    f"they were still there at steps {', '.join(map(str, steps[:4]))}, when its own were added",
                    float(len(steps)),
                ),
            ),
            why=f"nothing clears them between the update of {giver} and the backward pass of {label}",
            places=() if place is None else (place,),
            fix=Fix(f"clear the gradients of {label} right before its own backward pass, not only after its step",
                    _ORDER),
            not_this="another balance of the learning rates: part of what it follows is meant for the other",
            cures=(Cure("zero_gradients", "gradients of the other pass cleared", {"of_others": True}),),
        )  # fmt: skip
    return None
