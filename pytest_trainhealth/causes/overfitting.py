"""overfitting: validation gets worse while training gets better

What happens
    The model has learnt what its samples have in common, and goes on to learn them by heart. What it learns from then
    on does not carry over: the training loss falls, the validation loss rises.

How severe it is
    Medium: the model is right about the past only.

How it is recognised
    In a short fit with `val_data` (`generalizes`): the validation loss had been clearly better than the same guess for
    every sample, and ends clearly worse than that, in three runs with other random numbers, while the training loss
    falls on; where an accuracy is known, it has fallen by 5 points or more. The re-runs add weight decay, then dropout,
    then stop at the step that was best for one half of the validation samples: one of them has to keep half of what had
    been gained. Stopping counts where in all three runs the other half of the samples, too, was clearly better than a
    guess at the step that the first half chose; the curve of one run alone would prove itself. In the log of a finished
    run: the validation loss ends above its best by more than half of what it had gained, and the training loss has
    fallen since. Where a validation score is logged, it has to have fallen, too. Nothing is run again then, so it is
    never more than *likely*.

How to fix it
    Keep the checkpoint of the best epoch (early stopping). Then, in this order: more data or augmentation, weight decay
    (1e-4 to 1e-2) and dropout, a smaller model.

What not to do
    Another optimizer or another learning rate: they change how soon it happens. More epochs make it worse.

How to prevent it
    Watch validation from the first epoch, stop at its best, and keep that checkpoint; `generalizes` and
    `history_is_healthy` measure the gap.

When this is wrong
    The training loss is not the same quantity as the validation loss (weighted classes, label smoothing), or validation
    samples come from elsewhere and drift away for another reason. A classifier that only becomes more certain of its
    mistakes has a validation loss that rises and an accuracy that does not fall: with the accuracy in the log, that is
    no alarm.
"""

from __future__ import annotations

from .. import wording
from ..analysis import generalization
from ..analysis.generalization import Fit, fit_of
from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.intervention import Cure
from ..records.symptoms import OVERFITTING
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import FIT

GROUP = FIT
ORDER = 19
EXPLAINS = (OVERFITTING,)

#: What is tried first. By judgement: the upper end of what is usual with AdamW, 0.1.
_DECAY = 0.1
#: By judgement: the usual share in fully connected layers, 0.5.
_DROPPED = 0.5


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if trace.history is not None:
        return in_history(trace.history, symptom)
    fit = fit_of(trace)
    if fit is None or not generalization.overfits(trace, fit):
        return None
    return Suspicion(
        statement=f"validation gets worse than a guess from step {fit.best.steps} on while training gets better",
        evidence=_evidence(trace, fit),
        why="what it learns from then on is its samples by heart, which does not carry over to others",
        fix=Fix("stop at the best step, and regularise: more data or augmentation, weight decay, dropout"),
        not_this="another optimizer or more epochs: they change how soon it happens",
        cures=_cures(trace, fit),
    )


def _evidence(trace: Trace, fit: Fit) -> tuple[Evidence, ...]:
    best, end = fit.best, fit.end
    then, now = generalization.training_losses(trace, [best, end])
    found = [
        Evidence(
            f"validation loss is lowest after step {best.steps} ({wording.loss(best.val.loss)}) and is "
            f"{wording.loss(end.val.loss)} after step {end.steps}; training falls on, {wording.change(then, now)}",
            end.val.loss,
        )
    ]
    gap = fit.gap_in_accuracy
    if gap is not None and end.train is not None:
        found.append(
            Evidence(
                f"accuracy is {wording.share(end.train.accuracy or 0.0)} of data and "
                f"{wording.share(end.val.accuracy or 0.0)} of val_data: a gap of {100 * gap:.0f} points (more than "
                f"{100 * generalization.SEVERE:.0f} is severe)",
                gap,
            )
        )
    size = sum(each.size for each in trace.trainable)
    survey = trace.data.survey
    if survey is not None and survey.samples:
        samples = f"{'' if survey.complete else 'at least '}{wording.plural(survey.samples, 'sample')}"
        found.append(Evidence(f"{samples} for {wording.count(size)} parameters; {_regularised(trace)}", float(size)))
    return tuple(found)


def _regularised(trace: Trace) -> str:
    """What keeps it from learning by heart."""
    on = []
    if trace.numbers.dropouts:
        on.append(f"dropout of {wording.share(max(each.share for each in trace.numbers.dropouts))}")
    decay = max((each.weight_decay for each in trace.wiring.optimizers.values()), default=0.0)
    if decay:
        on.append(f"a weight decay of {wording.short(decay)}")
    smoothing = max((call.smoothing for call in trace.loss.calls), default=0.0)
    if smoothing:
        on.append(f"label smoothing of {wording.short(smoothing)}")
    return f"regularised by {wording.names(on, most=3)}" if on else "no dropout, no weight decay"


def _cures(trace: Trace, fit: Fit) -> tuple[Cure, ...]:
    decay = max((each.weight_decay for each in trace.wiring.optimizers.values()), default=0.0)
    found = []
    if decay < _DECAY:
        found.append(
            Cure(
                "optimizer_settings",
                f"weight decay of {_DECAY:g}",
                {"values": {"weight_decay": _DECAY}},
                Fix("more weight decay:", (f"AdamW(model.parameters(), lr=..., weight_decay={_DECAY:g})",)),
            )
        )
    found.append(
        Cure(
            "added_dropout",
            f"dropout of {_DROPPED:g} behind every activation",
            {"share": _DROPPED},
            Fix("drop values behind the activations:", (f"nn.Dropout({_DROPPED:g})",)),
        )
    )
    stop = Fix(f"stop when validation no longer gets better (here after step {fit.best.steps}), and keep that state")
    found.append(Cure("stopped", f"stopped after step {fit.best.steps}", {"after": fit.best.steps}, stop))
    return tuple(found)


def in_history(history: History, symptom: Symptom) -> Suspicion | None:
    fault = first_fault(history)
    if fault is None or fault.kind != "overfitting":
        return None
    return Suspicion(
        statement=fault.headline,
        evidence=fault.evidence,
        why="what it has learnt since then does not carry over to other samples",
        places=() if fault.place is None else (fault.place,),
        fix=Fix("keep the best checkpoint, and regularise: more data or augmentation, weight decay, dropout", ()),
        not_this="another optimizer or more epochs: they change how soon it happens",
    )
