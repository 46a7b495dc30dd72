"""overfitting: validation gets worse while training gets better

What happens
    The model has learnt what its samples have in common, and goes on to learn them by heart. What it learns from then
    on does not carry over: the training loss falls, the validation loss rises.

How severe it is
    Medium: the model is right about the past only.

How it is recognised
    In the log of a finished run: the validation loss ends above its best by more than half of what it had gained, and
    the training loss has fallen since. Where a validation score is logged, it has to have fallen, too. Nothing is run
    again, so this is never more than *likely*.

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

from ..analysis.history_faults import first_fault
from ..records.history import History
from ..records.symptoms import OVERFITTING
from ..records.trace import Trace
from ..records.verdict import Fix, Symptom
from . import Suspicion
from ._groups import FIT

GROUP = FIT
ORDER = 19
EXPLAINS = (OVERFITTING,)
CURABLE = False


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """No check of a few hundred steps reports it."""
    return None if trace.history is None else in_history(trace.history, symptom)


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
