"""accumulation-not-scaled: gradients of several backward passes add up to a step that is several times too large

What happens
    Gradients are accumulated over k small batches before each step, to stand in for one large batch. Each loss is a
    mean, so their sum is k times that of the large batch: the effective learning rate is k times the one you set.

How it is recognised
    k backward passes from one and the same line before each update, and none of their losses was divided by k. The
    re-run divides the gradients by k before the step.

How to fix it
    `(loss / k).backward()`, with the k of this update: the last one of an epoch may be shorter.

What not to do
    Clipping, or fewer batches per step: both hide the factor.

When this is wrong
    Losses of different kinds with a backward pass each (a critic's on real and on made-up samples) are meant to add up;
    they come from different lines and are not reported. Adam and similar optimizers divide the factor out again. It is
    reported only when a training fails, never by itself.
"""

from __future__ import annotations

from statistics import median

from .. import wording
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from ..records.wiring import Accumulation
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 15
EXPLAINS = (INSTABILITY, EXPLOSION, PLATEAU, NOT_LEARNING)

#: A loss that was divided by about k, or by more (by the number of all samples, say), is in order. By judgement: a
#: quarter of the way from 1 / k to the next smaller number of passes where k is 5.
_ABOUT = 1.25
#: Those that divide by the size of the gradients do not mind.
_SCALE_FREE = ("Adam", "NAdam", "RAdam", "AdamW", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Lion", "Rprop")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    updates = trace.wiring.accumulations
    sums = [u for u in updates if u.passes > 1 and u.one_loop and u.factor > _ABOUT / u.passes]
    if not sums or 2 * len(sums) <= len(updates) or _is_scale_free(trace, sums[0]):
        return None
    passes, first = int(median(u.passes for u in sums)), sums[0]
    return Suspicion(
        statement=f"each step uses the sum of {passes} gradients, not their mean",
        evidence=(
            Evidence(
                f"{passes} backward passes before each step of {first.optimizer}, each on a loss that was not divided",
                float(passes),
                first.place,
            ),
            Evidence(f"this was seen at {len(sums)} of {wording.plural(len(updates), 'update')} examined"),
        ),
        why=f"gradients add up, so the effective learning rate is {passes} times the one set",
        places=() if first.place is None else (first.place,),
        fix=Fix("divide each loss by the number of backward passes per step:", (f"(loss / {passes}).backward()",)),
        not_this="clipping, or another learning rate: both hide the factor, which changes with the number of passes",
        cures=(Cure("mean_gradients", f"gradients divided by {passes}"),),
    )


def _is_scale_free(trace: Trace, update: Accumulation) -> bool:
    record = trace.wiring.optimizers.get(update.optimizer)
    return record is not None and record.kind in _SCALE_FREE
