"""vanishing-gradients: gradients shrink by orders of magnitude on their way to the first layers

What happens
    Each saturating activation and each weight below 1 makes the gradient smaller. After many of them the first layers
    get almost nothing: they stay at their random start, and the later layers learn from noise.

How severe it is
    High: the first layers stay random.

How it is recognised
    The gradient per value of the first layers is many orders of magnitude below that of the last. The re-run draws new
    weights with a scale measured layer by layer, then replaces hidden sigmoid and tanh with a leaky ReLU.

How to fix it
    Activations of the ReLU family instead of sigmoid and tanh, residual connections, normalisation layers, an
    initialisation that fits the activation.

What not to do
    A higher learning rate: the last layers diverge long before the first ones move.

How to prevent it
    Residual connections and norms from ten layers on; look at the gradient of the first layer in the first step.
    `gradients_flow` does.

When this is wrong
    Biases before a normalisation and query and key weights at the start have tiny gradients by nature: only weight
    matrices count, from the first of the model on, and only eight orders of magnitude below the largest of the same
    step (or three, where the loss does not fall).
"""

from __future__ import annotations

from .. import wording
from ..analysis import gradient_flow, wiring
from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import NUMBERS
from ._in_histories import places

GROUP = NUMBERS
ORDER = 3
EXPLAINS = (NOT_LEARNING, PLATEAU)

#: Beside a loss that does not fall, less is enough: of 191 healthy programs the first weight of one is below (a gate
#: that starts at 0), the next are at 5e-3 and 2e-2; that of 16 convolutions with tanh is at 1.5e-4, that of twelve
#: sigmoid layers at 1e-11.
_BESIDE_A_FLAT_LOSS = 1e-3


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The norm in the log is almost 0 from the first entry to the last."""
    fault = first_fault(history)
    if fault is None or fault.kind != "no gradients":
        return None
    return Suspicion(
        statement=fault.headline,
        evidence=fault.evidence,
        certainty="possible",
        why="the gradient shrinks at each layer, or does not get through one of them",
        places=places(fault),
        fix=Fix("run gradients_flow on the training: it names the layer at which it gets lost"),
        not_this="a higher learning rate: there is nothing to multiply",
    )


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    faint = gradient_flow.faint_first(trace, _BESIDE_A_FLAT_LOSS)
    if not faint:
        return None
    sizes = {p.name: max(p.rms_gradients().values(), default=0.0) for p in wiring.weights(trace) if p.has_gradient}
    weakest = min((p.name for p in faint), key=sizes.__getitem__)
    loudest = max(sizes, key=sizes.__getitem__)
    bounded = [a for a in trace.numbers.activations.values() if a.saturated]
    evidence = [
        Evidence(
            f"gradient per value: {weakest} {wording.short(sizes[weakest])}, {loudest} {wording.short(sizes[loudest])}",
            gradient_flow.reached(trace)[weakest],
        ),
        Evidence(
            f"the first {len(faint)} of {wording.plural(len(sizes), 'weight')} get less than "
            f"{_BESIDE_A_FLAT_LOSS:g} of the largest gradient"
        ),
    ]
    if bounded:
        evidence.append(
            Evidence(
                f"{wording.plural(len(bounded), bounded[0].function + ' activation')} on the way",
                place=bounded[0].place,
            )
        )
    return Suspicion(
        statement=f"the gradient almost vanishes before it reaches {weakest}",
        evidence=tuple(evidence),
        why="each layer passes back only a fraction of the gradient it gets",
        places=() if not bounded or bounded[0].place is None else (bounded[0].place,),
        fix=Fix("use ReLU-like activations, residual connections or normalisation between the layers"),
        not_this="a higher learning rate: the last layers diverge long before the first ones move",
        cures=(
            Cure("reinitialise", "layers re-initialised"),
            *(
                (Cure("rectifiers", "ReLU-like activations, too", {"hidden": len(bounded) - 1}),)
                if len(bounded) > 1
                else ()
            ),
        ),
    )
