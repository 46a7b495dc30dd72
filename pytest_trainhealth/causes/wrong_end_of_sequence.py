"""wrong-end-of-sequence: a layer that reads both ways is used where one direction has seen next to nothing

What happens
    The forward direction of a bidirectional LSTM, GRU or RNN has read all of a sequence at its last step, the backward
    direction at its first one. `output[:, -1]` joins the end of the one with the beginning of the other, which has seen
    a single element there. Half of the features say hardly anything, and half of the layer never learns to remember.
    `h_n[-1]` is the last state of the backward direction alone.

How severe it is
    High: half of the model's reading is thrown away.

How it is recognised
    Each direction starts from nothing, so its recurrent weights get a gradient from every step but its first. Those of
    one direction get a gradient of exactly 0, while its input weights and the other direction learn: only its first
    step is used. If its input weights get none either, it is not used at all. The re-run hands on the backward
    direction's last step in the place of its first.

How to fix it
    Join the last states of both directions: `torch.cat((h_n[-2], h_n[-1]), dim=1)`. Or use all steps, by a mean, a
    maximum or attention over time.

What not to do
    More units: the backward direction still sees one element.

How to prevent it
    Take the last states that the layer returns (`h_n`) rather than an index into the outputs, and test that the first
    position matters; `uses_its_input` does.

When this is wrong
    A layer whose features are cut in halves on purpose, `output[:, -1, :hidden_size]`, uses one direction as it should
    be used, and is noted only. So is a sequence of a single element.
"""

from __future__ import annotations

from .. import wording
from ..analysis.directions import LittleUsed, little_used
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 6
EXPLAINS = (NOT_LEARNING, PLATEAU)

_JOINED = ("output, h_n = rnn(x)  # of an LSTM: output, (h_n, c_n)", "both = torch.cat((h_n[-2], h_n[-1]), dim=1)")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    found = little_used(trace)
    if not found:
        return None
    each = found[0]
    layer, direction = each.module or f"the {each.kind}", "backward" if each.backward else "forward"
    record = trace.wiring.modules.get(each.module)
    place = None if record is None else record.place
    learns = f"{wording.names(each.weights)} got a gradient of exactly 0 in {wording.plural(trace.steps, 'step')}"
    return Suspicion(
        statement=f"the {direction} direction of {layer} is read "
        + ("where it has seen one element" if each.first_step else "nowhere"),
        evidence=(
            Evidence(learns, 0.0),
            Evidence(
                "the input weights of this direction learn: its first step is used, and no other"
                if each.first_step
                else f"the other direction of {layer} learns, and this one has no influence on the loss"
            ),
        ),
        why=_why(each),
        places=() if place is None else (place,),
        fix=Fix("join the last states of both directions:", _JOINED),
        not_this="more units: this direction would still see one element"
        if each.first_step
        else "freezing it to silence the test: half of the layer is missing",
        cures=(Cure("both_ends", "each direction read where it ends", {"layers": sorted({f.module for f in found})}),)
        if each.first_step
        else (),
    )


def _why(each: LittleUsed) -> str:
    if not each.first_step:
        return "the last state of one direction alone is taken for that of the layer"
    return (
        "the last step of the output is where the backward direction begins"
        if each.backward
        else "the first step of the output is where the forward direction begins"
    )
