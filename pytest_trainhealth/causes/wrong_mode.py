"""wrong-mode: the model is trained in eval mode, or evaluated in training mode

What happens
    In eval mode dropout does nothing and BatchNorm uses its running statistics instead of those of the batch, and
    does not update them. The loss falls nicely, often faster than it should; but there is no regularisation, and
    BatchNorm normalises with whatever statistics it was left with. Evaluated in training mode, BatchNorm moves its
    running statistics towards the validation data, dropout is on, and the figures depend on how the data are batched.

How severe it is
    High: dropout is off where it should regularise, or statistics never adapt; in evaluation, results are noise.

How it is recognised
    Dropout or BatchNorm layers ran in eval mode, inside a model in eval mode, with gradients on, and an optimizer
    then stepped. The re-run puts the model into training mode. The same of a part in eval mode inside a model in
    training mode, where it has dropout of yours, all of it is trained, and no step has that dropout on. Or: between
    updates BatchNorm or dropout layers ran in training mode without gradients, on other data than the step's, and a
    loss of that was computed. The re-run has them in eval mode there. Or: dropout was on in a frozen module (a
    teacher) that makes targets, so that they are noisy. The re-run puts it into eval mode. Or: called in eval mode,
    a model drops values all the same, by `F.dropout(x, p)` without `training=` or with the opposite of the mode, or
    by a layer that its forward() makes anew.

How to fix it
    `model.train()` at the beginning of every epoch, and again after every evaluation: `model.eval()` lasts until it is
    undone. `from_pretrained()` returns models in eval mode. `model.eval()` before every evaluation: `no_grad()` alone
    does not change the mode.

What not to do
    More dropout, or another learning rate: neither does anything to layers that are switched off.

How to prevent it
    Call `model.train()` as the first line of each epoch and `model.eval()` as the first of each evaluation.
    `gradients_flow` and `evaluates_cleanly` look at the modes.

When this is wrong
    Parts in eval mode inside a model in training mode (a backbone with anything frozen in it, BatchNorms, single
    dropout layers, parts of an installed package, and whatever a `train()` of your own keeps so), models without
    such layers, and pretrained BatchNorms alone are not reported; neither are passes without gradients whose loss
    nobody computes (pseudo-labels, a generator's samples), and dropout in frozen parts whose features are trained
    on, in copies that move (an averaged teacher) or that are built like what is trained (a target network). Dropout
    that is told `training=True` may be meant, for estimates of uncertainty. If the whole model should be in eval
    mode, call `model.train()` and put the layers in question, each by itself, into eval mode: that makes it
    explicit.
"""

from __future__ import annotations

from .. import wording
from ..analysis import wiring
from ..records.held_out import HeldOutRecord
from ..records.intervention import Cure
from ..records.state import EvaluationRecord
from ..records.symptoms import EXPLOSION, INSTABILITY, NOT_LEARNING, OVERFITTING, PLATEAU, SILENT, UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import WIRING

GROUP = WIRING
ORDER = 12
EXPLAINS = (SILENT, NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION, UNEQUAL, OVERFITTING)

_LEARNS = "BatchNorm takes the validation data into its running statistics"


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == UNEQUAL:
        found = trace.state.evaluation
        return _left_in_eval(found) if found is not None and found.left_in_eval else _evaluated(found)
    if symptom.category == OVERFITTING:
        return _evaluated(trace.state.held_out)
    record = wiring.left_in_eval(trace)
    if record is None:
        return _teacher(trace) or _validated(trace) or _lasting(trace)
    layers = [f"{path} ({kind})" for path, kind in sorted(record.layers.items())]
    since = f" from step {record.evaluated[0]} on" if record.trained else ""
    what = "part" if record.part else "model"
    return Suspicion(
        statement=f"{record.model} is trained in eval mode{since}",
        evidence=(
            Evidence(
                f"{wording.names(layers)} ran in eval mode with gradients on{since}",
                float(len(layers)),
                record.place,
            ),
            Evidence(
                f"{wording.plural(len(record.evaluated), 'update')} followed such a forward pass",
                float(len(record.evaluated)),
            ),
        ),
        why=f"eval() was called, and nothing puts the {what} back into training mode"
        if record.trained or record.place
        else f"nothing puts the {what} into training mode",
        places=() if record.place is None else (record.place,),
        fix=Fix(
            "switch to training mode before the forward pass, and again after each evaluation",
            (f"model.{record.part}.train()" if record.part else "model.train()",),
        ),
        not_this="more dropout, or another learning rate: these layers are switched off",
        cures=(Cure("train_mode", "training mode", {"parts": [record.model]} if record.part else {}),),
    )


def _teacher(trace: Trace) -> Suspicion | None:
    teacher = wiring.noisy_teacher(trace)
    if teacher is None:
        return None
    cure = Cure("keep_frozen", f"{teacher.name} in eval mode", {"names": [teacher.path]})
    return Suspicion(
        statement=f"{teacher.name} makes targets in training mode",
        evidence=(
            Evidence(
                f"{wording.names(teacher.layers)} dropped values at {wording.plural(len(teacher.steps), 'step')}",
                float(len(teacher.steps)),
                teacher.place,
            ),
            Evidence(f"all parameters of {teacher.name} are frozen, and only the loss uses its output"),
        ),
        why="nobody called its eval(): requires_grad=False and no_grad() do not change the mode",
        places=() if teacher.place is None else (teacher.place,),
        fix=Fix(
            "switch it to eval mode, and again after each train() of a model that holds it:",
            (f"{f'model.{teacher.path}' if teacher.path else 'teacher'}.eval()",),
        ),
        not_this="a higher temperature, or more epochs: the targets stay noisy",
        cures=(cure,) if teacher.path else (),
    )


def _validated(trace: Trace) -> Suspicion | None:
    record = wiring.validated_in_training_mode(trace)
    if record is None:
        return None
    layers, steps = "dropout" if record.drops else "BatchNorm", wording.plural(len(record.validated), "step")
    return Suspicion(
        statement=f"{record.model} is evaluated in training mode",
        evidence=(
            Evidence(
                f"{layers} layers ran in training mode, without gradients, on other data than the step's, and a loss "
                f"was computed, at {steps}",
                float(len(record.validated)),
                record.validated_at,
            ),
        ),
        why="no_grad() does not change the mode: "
        + ("what is evaluated is a model with holes" if record.drops else _LEARNS),
        places=() if record.validated_at is None else (record.validated_at,),
        fix=Fix(
            "switch the mode around every evaluation:", ("model.eval()", "with torch.no_grad(): ...", "model.train()")
        ),
        not_this="less dropout: the figures would still be those of another model"
        if record.drops
        else "a smaller momentum for BatchNorm: the statistics still learn from the validation data",
        cures=(Cure("eval_without_gradients", "eval mode where there are no gradients"),),
    )


def _left_in_eval(found: EvaluationRecord) -> Suspicion:
    models = wording.names(found.left_in_eval)
    return Suspicion(
        statement=f"after an evaluation, {models} {_trains(found.left_in_eval)} in eval mode",
        evidence=(Evidence(f"the step before it ran with {models} in training mode, the step after it did not"),),
        why="evaluate() calls eval(), and nothing puts the model back into training mode",
        fix=Fix(
            "switch back to training mode at the end of each evaluation, or at the start of each step",
            ("model.train()",),
        ),
        not_this="more dropout, or another learning rate: these layers are switched off",
    )


def _evaluated(found: EvaluationRecord | HeldOutRecord | None) -> Suspicion | None:
    """What `evaluates_cleanly` or `generalizes` has seen of the training's own evaluation."""
    if found is None or not found.active:
        return None
    layers = [f"{each.name} ({each.kind})" if each.in_training_mode else each.name for each in found.active]
    first = found.active[0]
    mode = any(each.in_training_mode for each in found.active)
    return Suspicion(
        statement="the model is evaluated in training mode" if mode else f"{first.name} stays on in eval mode",
        evidence=(
            Evidence(
                f"{wording.names(layers)} acted as in training during the evaluation", float(len(layers)), first.place
            ),
        ),
        why="nobody called its eval(): no_grad() does not change the mode"
        if mode
        else f"{first.name} is on unless it is told otherwise: its training= is True by default",
        places=() if first.place is None else (first.place,),
        fix=Fix(
            "switch the mode around every evaluation:", ("model.eval()", "with torch.no_grad(): ...", "model.train()")
        )
        if mode
        else Fix("hand it the mode of the model:", ("F.dropout(x, p, training=self.training)",)),
        not_this="averaging several evaluations: each of them sees another model than the one that was trained",
        cures=(Cure("evaluated", "evaluated in eval mode", {"how": "in eval mode"}),),
    )


def _trains(models: list[str]) -> str:
    return "is trained" if len(models) == 1 else "are trained"


def _lasting(trace: Trace) -> Suspicion | None:
    found = next((d for d in trace.probe.dropouts if d.made_by == "user"), None) if trace.probe is not None else None
    if found is None:
        return None
    why = f"{found.written} is on unless it is told otherwise: its training= is True by default"
    fix = Fix("hand it the mode of the model:", ("F.dropout(x, p, training=self.training)",))
    if found.reversed:
        why = f"{found.written} is told the opposite of the mode: in training mode it does nothing"
    elif found.made_anew:
        why = f"{found.model} makes a new {found.written} at every call, which no eval() reaches"
        fix = Fix("make the layer once, in __init__:", (f"self.dropout = {found.written}(p)",))
    return Suspicion(
        statement=f"{found.written} in {found.model} stays on in eval mode",
        evidence=(Evidence(f"called in eval mode, {found.model} drops values", 1.0, found.place),),
        why=why,
        places=() if found.place is None else (found.place,),
        fix=fix,
        not_this="averaging several evaluations: each of them sees another model than the one that was trained",
    )
