"""needs-lr-decay: the loss fell, and now bounces around a level that the step size dictates

What happens
    The first steps were right. Near the valley's floor the same step jumps from one side to the other, and the loss
    goes up and down instead of further down. A falling learning rate would let it settle.

How severe it is
    Low: the last part of what can be reached is missing.

How it is recognised
    The loss is below half of its first value, has not fallen for half of the run, and goes up and down by a tenth of
    its level or more, or each update still changes the weights by a tenth of their size. The re-run divides the
    learning rate by 10 from half way on; it has to end at a fifth of the loss or lower.

How to fix it
    Let the learning rate decay over the training (cosine, linear, or reduced on a plateau).

What not to do
    More epochs at this learning rate, or a lower one from the start, which makes the first half slow.

How to prevent it
    Let every run end with a small rate (cosine, linear); `history_is_healthy` shows a level that bounces.

When this is wrong
    Batches of different difficulty make any curve go up and down. Then the smaller steps do no better, and nothing is
    reported. Where two losses pull against each other (a reversed gradient, a generator and its critic) the curve shows
    who is ahead: it is not judged.
"""

from __future__ import annotations

from .. import wording
from ..analysis import learning_rates, loss_curve, wiring
from ..analysis.history_curve import Curve
from ..analysis.history_faults import first_fault
from ..analysis.history_limits import has_gained
from ..analysis.history_roles import Roles
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import INSTABILITY, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import RATES
from ._in_histories import places, rate_course, rate_evidence

GROUP = RATES
ORDER = 0
EXPLAINS = (PLATEAU, INSTABILITY)

#: A loss that rose this far above its start tells of a rate that was too high all along. By judgement: less may be the
#: difference between two batches.
_ROSE = 1.5
#: Of the first loss, in a log. As in loss_curve.py: two that need a decay have 0.06 and 0.18.
_FELL_FAR = 0.5


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    optimizer = next((o for o in trace.wiring.optimizers.values() if o.steps), None)
    if optimizer is None or not (loss_curve.bounces(trace.losses) or learning_rates.cannot_settle(trace)):
        return None
    if wiring.adversarial(trace):
        return None
    if max(trace.losses) > _ROSE * trace.losses[0]:
        return None
    half = len(trace.losses) // 2
    level, rest = loss_curve.level(trace.losses, 0.5), trace.losses[half:]
    rate = optimizer.rates[-1] if optimizer.rates else optimizer.first_lr or 0.0
    return Suspicion(
        statement=f"at a learning rate of {wording.short(rate)} the loss bounces around {wording.loss(level)}",
        evidence=(
            Evidence(
                f"the loss falls from {wording.loss(trace.losses[0])} to {wording.loss(level)} and stays there", level
            ),
            Evidence(
                f"in the last {len(rest)} steps it lies between {wording.loss(min(rest))} and {wording.loss(max(rest))}"
            ),
            Evidence(f"{optimizer.label} keeps its learning rate of {wording.short(rate)}", rate, optimizer.place),
        ),
        why="near the valley's floor the same step jumps from one side to the other",
        places=() if optimizer.place is None else (optimizer.place,),
        fix=Fix("let the learning rate decay:", ("CosineAnnealingLR(optimizer, T_max=steps)",)),
        not_this="more epochs at this learning rate, or a lower one from the start",
        cures=(Cure("learning_rate", "learning rate / 10 from half way on", {"factor": 0.1, "from_step": half}),),
    )


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    """The loss fell far, and then the weights go on jumping at a rate that never changes."""
    fault, found, loss = first_fault(history), rate_course(history), Roles(history).loss
    if fault is None or fault.kind not in ("growing swings", "swings together") or loss is None:
        return None
    curve = Curve(loss)
    if found is None or found.kind != "constant" or not has_gained(curve) or curve.end > _FELL_FAR * curve.start:
        return None
    rate = wording.short(found.series.values[-1])
    return Suspicion(
        statement=f"at a constant learning rate of {rate} the loss does not settle",
        evidence=(*fault.evidence, rate_evidence(history, found)),
        why="near the valley's floor the same step jumps from one side to the other",
        places=places(fault),
        fix=Fix("let the learning rate decay:", ("CosineAnnealingLR(optimizer, T_max=steps)",)),
        not_this="more epochs at this learning rate, or a lower one from the start",
    )
