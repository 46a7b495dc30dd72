"""lost-initialization: weights are initialised behind a parametrisation, which computes them anew

What happens
    With `weight_norm` and other parametrisations a layer's `weight` is no parameter: each forward pass computes it from
    others (`weight_g` and `weight_v`, `parametrizations.weight.original0`). What
    `nn.init.xavier_uniform_(layer.weight)` or `layer.weight.data.normal_()` writes there is gone with the first forward
    pass, and the training starts from other weights than those that were chosen.

How severe it is
    Medium to high: the start that was chosen is not the one that is used.

How it is recognised
    While the model is made, the computed weights are kept as they were computed. Before the first step one has other
    values, and what it is computed from has not.

How to fix it
    Initialise first, then apply the parametrisation. With `torch.nn.utils.parametrizations`, assigning works as well:
    `layer.weight = values` goes through its inverse.

What not to do
    Another scale for the initialisation: whatever it is, it does not arrive.

How to prevent it
    Initialise before `weight_norm` or `parametrize`, or through `parametrizations.weight.original*`, and assert the
    norm of the weight after one forward pass. `gradients_flow` reports it.

When this is wrong
    Weights that are computed from parameters which were initialised themselves (`weight_v`) are not reported.
"""

from __future__ import annotations

from .. import wording
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 14
CURABLE = False
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    lost = trace.wiring.lost_initialisations
    if not lost:
        return None
    names, first = wording.names([each.weight for each in lost]), lost[0]
    by = "torch.nn.utils.weight_norm" if first.old else "a parametrisation"
    return Suspicion(
        statement=f"the initial values of {names} never arrive",
        evidence=(
            Evidence(
                f"{names} {wording.is_or_are(len(lost))} computed by {by}, and got other values before the first step",
                float(len(lost)),
                first.place,
            ),
            Evidence("what they are computed from has kept its values"),
        ),
        why="each forward pass computes the weight from its parameters, whatever was written into it",
        places=() if first.place is None else (first.place,),
        fix=Fix(
            "initialise first, then apply the parametrisation:",
            ("nn.init.xavier_uniform_(layer.weight)", "layer = weight_norm(layer)"),
        ),
        not_this="another scale for the initialisation: whatever it is, it does not arrive",
    )
