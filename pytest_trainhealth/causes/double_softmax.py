"""double-softmax: a loss that applies softmax or sigmoid itself gets probabilities

What happens
    `cross_entropy` and `binary_cross_entropy_with_logits` take raw scores and turn them into probabilities themselves.
    Given probabilities they do it again: all scores lie between 0 and 1, the best possible result is a flat
    distribution, and the gradient is small. The loss falls a little and stops.

How severe it is
    High: the loss falls a little, stops at a floor, and looks like a model that is too small.

How it is recognised
    At the first steps the input of each loss function is traced back to the activation function that produced it. The
    re-run gives the loss the input of that activation. Where probabilities were mixed after it (a mean over time, a
    maximum over regions) and nothing that is trained comes between that and the loss, the re-run takes them as they
    are.

How to fix it
    Remove the last activation from the model, and apply it only where probabilities are read.

What not to do
    A higher learning rate or more epochs: the loss cannot get below its floor.

How to prevent it
    Let models return raw scores, always, and name them `logits`. `overfits_one_batch` cannot be passed with it.

When this is wrong
    `log_softmax` in front of `cross_entropy` changes nothing and is not reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls
from ..records.intervention import Cure
from ..records.loss_functions import APPLIES
from ..records.losses import LossCall
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 8
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    call = next((c for c in trace.loss.calls if loss_calls.squashed_twice(c)), None)
    if call is None:
        mixed = loss_calls.mixed_probabilities(trace)
        return None if mixed is None else _mixed(mixed)
    made, applied = loss_calls.made_at(call, trace), APPLIES[call.function]
    where = f" in {call.activation_module}" if call.activation_module else ""
    again = f"a {applied} of a {call.activation}"
    return Suspicion(
        statement=f"{call.function} applies {applied} to the output of {call.activation}",
        evidence=(
            Evidence(f"the input of {call.function} is the output of {call.activation}{where}", place=made),
            Evidence(
                f"its values lie {loss_calls.between(call.input.low, call.input.high)}; raw scores have no such bounds",
                call.input.high,
                call.place,
            ),
        ),
        why=f"{again} is nearly flat: the loss has a floor far above 0",
        places=loss_calls.places(call.place, made),
        fix=Fix(f"give it the raw scores: remove the {call.activation}{where}"),
        not_this="a higher learning rate or more epochs: the floor stays",
        cures=(_cure(call),),
    )


_AS_THEY_ARE = {"sigmoid": "F.binary_cross_entropy(p, target)", "softmax": "F.nll_loss(torch.log(p + 1e-8), target)"}
_BACK_TO_SCORES = {"sigmoid": "logit", "softmax": "log"}


def _mixed(call: LossCall) -> Suspicion:
    applied, made = APPLIES[call.function], wording.names(call.mixed)
    cure = Cure(
        "output_activation",
        "probabilities taken as they are",
        {"functions": [call.function], "apply": _BACK_TO_SCORES[applied]},
    )
    return Suspicion(
        statement=f"{call.function} applies {applied} to a mix of probabilities",
        evidence=(
            Evidence(f"what {call.function} is given is mixed from the output of {made}: no layer comes after that"),
            Evidence(
                f"its values lie {loss_calls.between(call.input.low, call.input.high)}; raw scores have no such bounds",
                call.input.high,
                call.place,
            ),
        ),
        why=f"a {applied} of probabilities is nearly flat: the loss has a floor far above 0",
        places=loss_calls.places(call.place),
        fix=Fix(f"use the loss that takes probabilities, without a {applied} of its own:", (_AS_THEY_ARE[applied],)),
        not_this="a higher learning rate or more epochs: the floor stays",
        cures=(cure,),
    )


def _cure(call: LossCall) -> Cure:
    return Cure(
        "output_activation", f"{call.activation} left out", {"functions": [call.function], "undo": call.activation}
    )
