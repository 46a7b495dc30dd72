"""How the gradient fares on its way back through the weights, compared at one and the same step."""

from __future__ import annotations

from itertools import takewhile

from ..records.trace import Trace
from ..records.wiring import ParameterRecord
from . import wiring

#: Steps. By judgement: a layer behind one that starts at 0 gets its gradient at step 1; by step 8 the last layers may
#: have settled, and their gradients be as small as those of the first.
_EARLY = 8


def reached(trace: Trace) -> dict[str, float]:
    """Per weight, the largest share of the strongest gradient per value that any of the early looks has found there.

    Shares of the same step: where gradients explode, those of the first step are nothing next to those of the last.
    """
    weights = [p for p in wiring.weights(trace) if p.has_gradient]
    steps = sorted({step for p in weights for step in p.rms_gradients() if step <= _EARLY})
    strongest = {step: max(p.rms_gradients().get(step, 0.0) for p in weights) for step in steps}
    return {
        p.name: max((g / strongest[step] for step, g in p.rms_gradients().items() if strongest.get(step)), default=0.0)
        for p in weights
    }


def faint_first(trace: Trace, share: float) -> list[ParameterRecord]:
    """The first weights, as long as they never get this share of the strongest gradient."""
    shares = reached(trace)
    return list(takewhile(lambda p: p.has_gradient and shares[p.name] < share, wiring.weights(trace)))
