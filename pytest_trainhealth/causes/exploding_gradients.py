"""exploding-gradients: gradients are far too large before the first step is taken

What happens
    Weights that are too large, recurrences without a brake or unscaled inputs multiply the gradient layer by layer.
    One step of the usual size then throws the parameters far away: the loss jumps, oscillates or overflows.

How it is recognised
    The norm of the gradient at the very first step, before any update could have spoilt anything, is above 100
    (healthy ones lie under about 5), and the run fails. The re-run clips the norm at 1.

How to fix it
    Mend the scale (initialisation, normalisation layers, standardised inputs, a mean instead of a sum in the loss), and
    clip: `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` before `optimizer.step()`.

What not to do
    A tiny learning rate alone: it hides the large steps and leaves the small ones useless.

When this is wrong
    A loss summed over many values has large gradients and trains well with an optimizer that scales them (Adam): large
    gradients alone are never reported, only beside a training that fails.
"""

from __future__ import annotations

from .. import figures, wiring
from ..facts import Cure, Evidence, Fix, Symptom
from ..symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..trace import Trace
from . import Suspicion

RANK = 24
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING)

#: Of the 192 healthy programs one is above (114: regression targets around 50, not scaled), the next at 29: so this
#: counts only beside a training that fails.
_LARGE = 100.0


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    first = wiring.gradient_norm(trace, 0)
    if not first > _LARGE:
        return None
    largest = max(trace.trainable, key=lambda p: p.gradients.get(0) or 0.0)
    evidence = [
        Evidence(f"the gradient's norm at step 0 is {figures.short(first)} (healthy ones lie under about 5)", first)
    ]
    evidence.append(Evidence(f"most of it in {largest.name}: {figures.short(largest.gradients.get(0) or 0.0)}"))
    losses = trace.losses
    if len(losses) > 1:
        evidence.append(Evidence(f"the loss goes {figures.change(losses[0], losses[1])} in one step"))
    return Suspicion(
        statement=f"the gradient's norm is {figures.short(first)} before the first step",
        evidence=tuple(evidence),
        why="weights, inputs or targets are of far too large a scale",
        fix=Fix(
            "mend the scale of weights or inputs, and clip before the step",
            ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",),
        ),
        not_this="a tiny learning rate alone: it leaves the other steps useless",
        cures=(Cure("clip_gradients", "gradients clipped at norm 1", {"max_norm": 1.0}),),
    )
