"""Layers that read a sequence both ways, of which the loss uses too little: one end, or one direction.

Each direction of a recurrent layer starts from nothing, so its recurrent weights get a gradient from every step but its
first. If theirs is exactly 0 and that of its input weights is not, then all that is used of this direction is its first
step, at which it has seen one element: `output[:, -1]` is the last step of the forward direction and the first of the
backward one. If the gradient of both is 0, the direction is not used at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..records.trace import Trace
from ..records.wiring import ParameterRecord

_RECURRENT = re.compile(r"^(?P<module>.*\.)?weight_hh_l(?P<layer>\d+)(?P<reverse>_reverse)?$")


@dataclass(frozen=True)
class LittleUsed:
    """A direction of a layer: nothing but its first step is used, or nothing at all."""

    module: str
    kind: str
    #: The direction that reads from the end to the start.
    backward: bool
    first_step: bool
    weights: tuple[str, ...]


def little_used(trace: Trace) -> list[LittleUsed]:
    """Only where the other direction of the same layer learns, and not what cannot matter as the layer is called."""
    known = {p.name: p for p in trace.trainable}
    found = []
    for name, recurrent in known.items():
        parts = _RECURRENT.match(name)
        if parts is None or not _is_zero(recurrent) or recurrent.inert:
            continue
        start, backward = f"{parts['module'] or ''}weight_", bool(parts["reverse"])
        own, other = ("_reverse", "") if backward else ("", "_reverse")
        inputs = known.get(f"{start}ih_l{parts['layer']}{own}")
        opposite = known.get(f"{start}hh_l{parts['layer']}{other}")
        if inputs is None or opposite is None or not opposite.has_gradient:
            continue
        weights = (name,) if inputs.has_gradient else (name, inputs.name)
        found.append(LittleUsed(recurrent.module, recurrent.module_class, backward, inputs.has_gradient, weights))
    return found


def _is_zero(parameter: ParameterRecord) -> bool:
    """It got gradients, all of them exactly 0."""
    return bool(parameter.gradients) and not parameter.has_gradient and not parameter.never_reached
