"""too-much-regularization: dropout or weight decay keeps the model from fitting anything

What happens
    Dropout that drops most of a layer's output, or weight decay that takes more from the weights in each step than the
    gradient adds, holds the loss up whatever the data. The two often come from one mistake: `keep_prob` given as the
    rate of dropout, or a weight decay of 1e-1 that was meant for another optimizer.

How severe it is
    High: the model may not learn what it could.

How it is recognised
    The share of values that dropout sets to 0 is counted, the weight decay is read from the optimizer, and lines that
    add the size of parameters to the loss are noted: such a penalty counts where it makes the loss five times as large
    or holds it up. So does label smoothing that leaves the right class less than half of its target, and a KL term of
    which each divergence counts eight times as much as an error, where the loss is that of the same output for every
    sample. The re-run switches all of it off; if it then memorises, the regularisation was in the way.

How to fix it
    Dropout of 0.1 to 0.5 (the share that is *dropped*); weight decay of 1e-4 to 1e-2 (up to 0.1 with AdamW, whose decay
    is multiplied by the learning rate), and none on biases and normalisation layers. First fit, then regularise.

What not to do
    A larger model or more epochs to make up for it: less regularisation achieves the same for free.

How to prevent it
    Memorise one batch without any regularisation first, then add one at a time. `overfits_one_batch` asks for exactly
    that.

When this is wrong
    Regularisation is meant to keep the loss up a little. It counts only where it is far beyond the usual, or nothing
    was learnt at all, and the training memorises without it.
"""

from __future__ import annotations

from .. import wording
from ..analysis import chance, course, loss_curve, outweighed
from ..analysis.loss_symptoms import MOST_SMOOTHING
from ..analysis.outweighed import Outweighed
from ..analysis.reference_points import points
from ..records.intervention import Cure
from ..records.losses import LossCall
from ..records.numbers import DropoutRecord
from ..records.symptoms import INSTABILITY, NOT_LEARNING, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Place, Symptom
from ..records.wiring import OptimizerRecord
from . import Suspicion
from ._groups import NUMBERS

GROUP = NUMBERS
ORDER = 10
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, SILENT)

#: Of the values that dropout was given: at most 0.56 in the 257 healthy programs (0.5, counted on few values). Graph
#: attention networks drop 0.6 as published; the pairs and programs that are sick of it drop 0.8 and more.
_DROPPED = 0.65
#: Of the way from a guess down to the floor. Dropout of a usual size keeps a loss up, but not at a guess: the README
#: of skorch (half of ten units) is at 0.5 after 225 steps on one batch. Of 61 faulty programs 26 are above 0.9.
_A_GUESS = 0.9
#: Decay of the weights in one step, where it is not part of the gradient: at most 2e-3 in the healthy programs (Muon),
#: at most 3e-4 with AdamW.
_PER_STEP = 5e-3
#: As part of the gradient: 1e-4 to 5e-4 is usual, none of the healthy programs has more than 1e-2.
_IN_THE_GRADIENT = 0.05
#: Of its first value: a loss that stays above is held up. By judgement: the cure decides.
_HELD_UP = 0.5
#: What is advised instead: at most 0.01, as in torch's AdamW. By judgement a tenth of one that is lower already.
_USUAL_DECAY = 0.01
_DECOUPLED = ("AdamW", "Lion", "Muon", "Adafactor")


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    smoothed = next((call for call in trace.loss.calls if call.smoothing > MOST_SMOOTHING), None)
    if smoothed is not None:
        return _smoothed(smoothed)
    if symptom.category == SILENT:
        return None
    found = outweighed.outweighed(trace, symptom.measured)
    if found is not None and not found.plain_sum:
        return _outweighed(found)
    dropouts = [d for d in trace.numbers.dropouts if d.share >= _DROPPED]
    decays = [o for o in trace.wiring.optimizers.values() if o.steps and _is_large(o)]
    drowned = chance.under_a_penalty(trace)
    penalties = trace.numbers.penalties if drowned is not None or _held_up(trace) else []
    return _suspicion(trace, dropouts, decays, penalties)


def _suspicion(
    trace: Trace, dropouts: list[DropoutRecord], decays: list[OptimizerRecord], penalties: list[Place]
) -> Suspicion | None:
    if not dropouts and not decays and not penalties:
        return None
    drowned = chance.under_a_penalty(trace)
    evidence, places, statement = [], [], ""
    if dropouts:
        worst = max(dropouts, key=lambda d: d.share)
        where = worst.module or "the model"
        statement = f"dropout in {where} sets {wording.share(worst.share)} of its values to 0"
        evidence.append(
            Evidence(f"{statement} (10 to 50 % is usual); {wording.plural(len(dropouts), 'such call')}", worst.share)
        )
        places.append(worst.place)
    for optimizer in decays[:1]:
        summary = f"{optimizer.label} has a weight decay of {wording.short(optimizer.weight_decay)}"
        rate = (optimizer.first_lr or 0.0) * optimizer.weight_decay
        statement = statement or summary
        evidence.append(
            Evidence(
                f"{summary} (1e-4 to 1e-2 is usual): {wording.share(rate)} of each weight, step by step",
                optimizer.weight_decay,
                optimizer.place,
            )
        )
        places.append(optimizer.place)
    for place in penalties[:1]:
        statement = statement or "a penalty on the size of parameters outweighs the loss"
        part = (
            ""
            if drowned is None
            else f": {wording.loss(drowned)} of {wording.loss(trace.losses[0])} remains without it"
        )
        evidence.append(Evidence(f"the size of parameters is part of the loss{part}", drowned, place))
        places.append(place)
    return Suspicion(
        statement=statement,
        evidence=tuple(evidence),
        why=(
            "only a handful of units is left of a layer, different ones at every step"
            if dropouts
            else "it takes more from the weights in each step than the gradient adds"
        ),
        places=tuple(dict.fromkeys(p for p in places if p is not None)),
        fix=_fix(bool(dropouts), decays),
        not_this="a larger model or more epochs: without it the same model fits",
        cures=(Cure("no_regularization", f"without {_parts(bool(dropouts), bool(decays), bool(penalties))}"),),
    )


def _smoothed(call: LossCall) -> Suspicion:
    return Suspicion(
        statement=f"label smoothing of {wording.short(call.smoothing)} leaves little of the labels",
        evidence=(
            Evidence(
                f"{call.function} has label_smoothing = {wording.short(call.smoothing)} (0.05 to 0.2 is usual): it is "
                f"{wording.loss(call.floor or 0.0)} at least, and a guess gives {wording.loss(call.chance or 0.0)}",
                call.smoothing,
                call.place,
            ),
        ),
        why="each target says more about the wrong classes than about the right one",
        places=() if call.place is None else (call.place,),
        fix=Fix("smooth less:", (f"{call.function}(scores, labels, label_smoothing=0.1)",)),
        not_this="a larger model or more epochs: there is hardly anything left to learn",
        cures=(Cure("no_regularization", "without label smoothing"),),
    )


def _outweighed(found: Outweighed) -> Suspicion:
    kl, other, times = found.divergence, found.other, wording.short(found.times)
    return Suspicion(
        statement=f"the KL term outweighs {other.function}",
        evidence=(
            Evidence(
                f"one term of the KL divergence of shape {kl.input.shape} counts as much as {times} terms of "
                f"{other.function} of shape {other.input.shape} (1 in an ELBO, 4 with a usual beta)",
                found.times,
                kl.place,
            ),
        ),
        why="it drives all information out of the latent variables: every sample gets the same output",
        places=tuple(p for p in (kl.place, other.place) if p is not None),
        fix=Fix(
            "reduce both in the same way, and weigh the KL term at most 4 times:",
            ("error = F.mse_loss(output, x, reduction='sum') / len(x)", "loss = error + beta * kl.sum(-1).mean()"),
        ),
        not_this="a larger model or more latents: nothing pays for what they would tell",
        cures=(Cure("scale_divergence", "KL term and errors weighed alike", {"factor": 1 / found.times}),),
    )


def _parts(dropout: bool, decay: bool, penalty: bool) -> str:
    if penalty and not dropout and not decay:
        return "the penalty"
    return "dropout, weight decay and penalties" if penalty else "dropout and weight decay"


def _held_up(trace: Trace) -> bool:
    """An intended penalty gives the loss a floor; one that outweighs the loss hardly lets it fall."""
    return len(trace.losses) > 1 and loss_curve.level(trace.losses) > _HELD_UP * abs(trace.losses[0])


def _is_large(optimizer: OptimizerRecord) -> bool:
    per_step = (optimizer.first_lr or 0.0) * optimizer.weight_decay
    if optimizer.kind.startswith(_DECOUPLED):
        return per_step >= _PER_STEP
    return per_step >= _PER_STEP or optimizer.weight_decay >= _IN_THE_GRADIENT


def _fix(dropout: bool, decays: list[OptimizerRecord]) -> Fix:
    if dropout:
        return Fix("drop less (p is the share that is set to 0):", ("nn.Dropout(p=0.2)",))
    if decays:
        lower = wording.short(min(_USUAL_DECAY, decays[0].weight_decay / 10))
        return Fix("lower the weight decay:", (f"{decays[0].kind}(..., weight_decay={lower})",))
    return Fix("lower the factor of the penalty until the loss falls without it")


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Any weight decay or penalty at all, however usual its size; dropout of a usual size where nothing was learnt.

    Each makes learning slower, in healthy trainings as well. A watched loop takes as many steps as it takes: where its
    loss still fell when it ended, being faster without them shows no fault. Dropout is also part of the loss that is
    read: without it every model with dropout is lower, and no steps make up for it.
    """
    if trace.watched and loss_curve.still_falling(trace.losses, points(trace).floor):
        return None
    least = 0.0 if course.way_left(trace) > _A_GUESS else _DROPPED
    dropouts = [d for d in trace.numbers.dropouts if d.share > least]
    decays = [o for o in trace.wiring.optimizers.values() if o.steps and o.weight_decay]
    return _suspicion(trace, dropouts, decays, list(trace.numbers.penalties))
