"""How the gradient fares on its way back through the weights, compared at one and the same step."""

from __future__ import annotations

import math
from itertools import takewhile

from ..records.trace import Trace
from ..records.wiring import ParameterRecord
from . import wiring

#: Steps. By judgement: a layer behind one that starts at 0 gets its gradient at step 1; by step 8 the last layers may
#: have settled, and their gradients be as small as those of the first.
_EARLY = 8


#: Of the largest gradient per value of a run: the first weight of all 192 healthy programs is above 1e-2.
_OF_THE_WHOLE_RUN = 1e-5
#: Times, of gradients that explode. By judgement: the same 100 as in exploding-gradients.
_GREW = 100


def reached(trace: Trace) -> dict[str, float]:
    """Per weight, the largest share of the strongest gradient per value that any of the early looks has found there.

    Shares of the same step: where gradients explode, those of the first step are nothing next to those of the last.
    """
    weights = [p for p in wiring.weights(trace) if p.has_gradient]
    steps = sorted({step for p in weights for step in p.rms_gradients() if step <= _EARLY})
    strongest = {step: max(p.rms_gradients().get(step, 0.0) for p in weights) for step in steps}
    strongest = {step: size for step, size in strongest.items() if 0 < size < math.inf}
    return {
        p.name: max((g / strongest[step] for step, g in p.rms_gradients().items() if step in strongest), default=1.0)
        for p in weights
    }


def faint_first(trace: Trace, share: float) -> list[ParameterRecord]:
    """The first weights, as long as they never get this share of the strongest gradient.

    Where no weight gets a gradient worth the name at first (a recurrent state that has faded to 0), the strongest one
    of the whole run counts, unless gradients exploded in it.
    """
    shares = reached(trace)
    faint = list(takewhile(lambda p: p.has_gradient and shares[p.name] < share, wiring.weights(trace)))
    return faint if faint or _exploded(trace) else wiring.vanished(trace, _OF_THE_WHOLE_RUN)


def _exploded(trace: Trace) -> bool:
    """Compared with what any parameter got at the first look: a bias of the last layer always gets its gradient."""
    looks = [p.rms_gradients() for p in trace.trainable]
    first = min((step for look in looks for step in look), default=0)
    largest = wiring.strength(trace)
    return not math.isfinite(largest) or largest > _GREW * max((look.get(first, 0.0) for look in looks), default=0.0)
