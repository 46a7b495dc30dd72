"""ignored-class: the loss ignores labels of a class that has to be learnt

What happens
    `ignore_index=0` is meant for padding. Where 0 is one of the classes, its samples count for nothing, and all that is
    left of two classes is one: whoever always answers with it has a loss of 0. The loss falls fast and far, and the
    model tells nothing apart.

How severe it is
    High: one class is never predicted, and the average looks fine.

How it is recognised
    At the first steps, by what the loss is called with: two outputs, labels of 0 and 1, and one of these is the value
    that it ignores. The re-run lets all labels count.

How to fix it
    Leave out `ignore_index`. If there is padding as well, mark it with a value that is no class: -100 is ignored unless
    told otherwise.

What not to do
    Class weights: an ignored label has no weight that could be raised.

How to prevent it
    Keep the label to ignore outside of the classes (-100, the default), and look at the accuracy of each class.
    `data_is_healthy` and `learns_from_data` see what the loss is given.

When this is wrong
    With three outputs and more the ignored one may be padding, the background or an unknown class, and is never
    reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import loss_calls
from ..records.intervention import Cure
from ..records.symptoms import NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import LOSS

GROUP = LOSS
ORDER = 2
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    call = loss_calls.one_class_left(trace)
    if call is None:
        return None
    return Suspicion(
        statement=f"{call.function} ignores the labels {call.ignored_class}, one of two classes",
        evidence=(
            Evidence(
                f"{call.function} has ignore_index={call.ignored_class}, and {wording.share(call.ignored)} of the "
                f"labels are {call.ignored_class} at step {call.step}",
                call.ignored,
                call.place,
            ),
            Evidence(f"the scores of shape {call.input.shape} have two classes: one is left"),
        ),
        why=f"always answering {1 - (call.ignored_class or 0)} is right for every label that counts",
        places=loss_calls.places(call.place),
        fix=Fix("let both classes count; padding gets a value that is no class:", ("F.cross_entropy(scores, labels)",)),
        not_this="class weights: an ignored label has none",
        cures=(Cure("every_label", "all labels count"),),
    )
