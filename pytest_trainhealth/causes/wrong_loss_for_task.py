"""wrong-loss-for-task: the loss function does not fit the targets

What happens
    `cross_entropy` with a single output: one class has a probability of 1, the loss is always 0, and nothing is ever
    learnt. `cross_entropy` with several true labels per row cannot make all of them likely at once.

How severe it is
    High: another goal is trained for than the one that is meant.

How it is recognised
    At the first steps, by the number of classes that the loss gets, and by the targets. Rows with several labels next
    to rows with none are an alarm however far the loss falls; without the latter, only where it does not.

How to fix it
    For yes or no with one output, and for several labels at once: `binary_cross_entropy_with_logits`. For one class
    out of several: as many outputs as classes and `cross_entropy`.

What not to do
    Tuning anything: a loss that is always 0 has no gradient.

How to prevent it
    Write down the type and the range of the targets beside the loss. `overfits_one_batch` and `data_is_healthy` look at
    both.

When this is wrong
    Counts as targets, or what customers chose (a multinomial likelihood), are rightly given to `cross_entropy`, and
    have a floor above 0. Their rows have at least one each.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls
from ..records.losses import LossCall
from ..records.symptoms import CRASH, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 11
CURABLE = False
EXPLAINS = (NOT_LEARNING, PLATEAU, SILENT, CRASH)

_BINARY = "F.binary_cross_entropy_with_logits(output, target.float())"


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    call = loss_calls.one_column(trace)
    if call is not None:
        return _one_output(call)
    if symptom.category == CRASH:
        return None
    call = next(filter(loss_calls.several_labels, trace.loss.calls), None)
    return None if call is None else _many(call)


def _one_output(call: LossCall) -> Suspicion:
    output = "output" if call.input.shape == call.target.shape else "output.squeeze(1)"
    summary = "" if call.value is None else f"; its value is {wording.loss(abs(call.value))}"
    return Suspicion(
        statement=f"cross_entropy over a single output (shape {call.input.shape})",
        evidence=(
            Evidence(
                f"cross_entropy got scores of shape {call.input.shape}: one class{summary}", call.value, call.place
            ),
            Evidence(f"the targets take {wording.plural(call.target.distinct, 'different value')}"),
        ),
        why="a softmax over one value is always 1: there is nothing to learn",
        places=loss_calls.places(call.place),
        fix=Fix("for yes or no with one output:", (_BINARY.replace("output", output),)),
        not_this="tuning anything: this loss has no gradient",
    )


def _many(call: LossCall) -> Suspicion:
    return Suspicion(
        statement="cross_entropy gets several true labels per row",
        evidence=(
            Evidence(
                f"the targets of shape {call.target.shape} are zeros and ones whose rows do not sum to 1",
                place=call.place,
            ),
        ),
        why="one softmax cannot make several labels likely at once",
        places=loss_calls.places(call.place),
        fix=Fix("for several labels at once:", (_BINARY,)),
        not_this="more capacity: the floor stays",
    )
