"""unnormalized-inputs: inputs or targets are far from the scale that the weights are initialised for

What happens
    Weights are initialised for inputs around 0 with a spread of about 1. Pixels from 0 to 255, incomes in the thousands
    or years around 2000 make the first outputs huge: activations saturate, gradients explode in some directions and are
    too small in all others. Targets in the thousands do the same from the other end: the output has to travel there in
    steps of the size of the learning rate.

How severe it is
    High: the first layer saturates or explodes, and only a tiny learning rate survives it.

How it is recognised
    The input of the model's first weights is measured, feature by feature; so is what the output is compared with. It
    counts only when a training fails. The re-run standardises each feature with the statistics of the first batch,
    inputs where the model gets them, targets where the loss does. Or `val_data` reaches the model with another mean or
    spread than `data`: the re-run brings it to the scale of `data`, and validation has to become better than a guess.
    Or the features of `val_data` have changed places: each column lies, by its mean and spread, where another one lies
    in `data`, or hardly anything carries over to images of three colours. With them in the order of `data` (colours:
    backwards, BGR for RGB) validation has to become far better.

How to fix it
    Standardise with the statistics of the *training set*: subtract the mean of each feature and divide by its standard
    deviation; divide pixels by 255. Do the same to the targets of a regression, and undo it in what you report. Or let
    a BatchNorm be the first layer. Take logarithms of what spans orders of magnitude.

What not to do
    A smaller learning rate: features of different scale need different ones. Other weights: they would fit one feature.
    Statistics of each batch or of the test set: they are not the ones the model will see later.

How to prevent it
    Standardise with statistics of the training split, in the model or in the data set but in one place, and assert mean
    and spread of a batch. `data_is_healthy` measures each field.

When this is wrong
    Indices that go into an embedding, inputs that the model itself normalises and those in front of a normalisation
    layer are never counted.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_scale
from ..analysis.generalization import fit_of, in_another_order, prepared_otherwise
from ..records.data import ScaleRecord
from ..records.held_out import OtherOrder
from ..records.intervention import Cure
from ..records.symptoms import EXPLOSION, FAULTY_DATA, INSTABILITY, NOT_LEARNING, OVERFITTING, PLATEAU
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA, Stage
from ._harmful_data import harmful

GROUP = DATA
#: A matter of size: odd sizes alone do not acquit the learning rate.
STAGE = Stage.NUMBERS
ORDER = 0
EXPLAINS = (NOT_LEARNING, PLATEAU, INSTABILITY, EXPLOSION, FAULTY_DATA, OVERFITTING)

#: Beside data that is out of scale, whatever lies beyond this is standardised with it. Above the 1.2 and 2.2 of the
#: healthy programs (analysis/data_scale.py).
_STANDARD = 3.0
#: Times the learning rate, once the scale no longer forbids it. By judgement: rates are chosen from powers of 10.
_FASTER = 10.0


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        return harmful(trace, "scale")
    if symptom.category == OVERFITTING:
        return _prepared_otherwise(trace)
    inputs, targets = data_scale.inputs_off_scale(trace), data_scale.targets_off_scale(trace)
    return _suspicion(inputs, targets, symptom)


def swap(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """Inputs that are a little out of scale, too. Not the targets: with others the loss is another one."""
    return _suspicion([s for s in trace.data.scales if not s.target and s.largest > _STANDARD], [], symptom)


def _prepared_otherwise(trace: Trace) -> Suspicion | None:
    """What the model is given from `val_data` has another scale, or order, than what it learns from."""
    held = trace.state.held_out
    shift, fit = None if held is None else held.shift, fit_of(trace)
    order = None if fit is None or not in_another_order(fit) else fit.held.other_order
    if order is not None:
        return _in_another_order(order, scale=prepared_otherwise(shift) and not order.known_again)
    if shift is None or not prepared_otherwise(shift):
        return None
    return Suspicion(
        statement="val_data is not standardised as data is",
        evidence=(
            Evidence(
                f"what the model is given has a mean of {wording.short(shift.mean)} and a spread of "
                f"{wording.short(shift.std)} from data, and {wording.short(shift.val_mean)} and "
                f"{wording.short(shift.val_std)} from val_data",
                shift.val_std,
            ),
        ),
        why="the model is validated on inputs of a scale that it has never seen",
        fix=Fix(
            "prepare both with the statistics of the training set:",
            ("val_inputs = (val_inputs - train_inputs.mean(0)) / train_inputs.std(0)",),
        ),
        not_this="more regularisation: what it has learnt does carry over",
        cures=(_RESCALED,),
    )


def _in_another_order(found: OtherOrder, *, scale: bool) -> Suspicion:
    """With another scale, too, that is tried first: it takes less to be true."""
    moved, there = sum(at != place for at, place in enumerate(found.order)), found.order[found.first]
    backwards = "" if found.known_again else ", read backwards (BGR for RGB)"
    either = "val_data is not prepared as data is: another scale, or its colours read backwards"
    return Suspicion(
        statement=either if scale else "val_data has the features of data in another order",
        evidence=(
            Evidence(
                f"what the model is given as feature {found.first} has a mean of {wording.short(found.mean)} from data "
                f"and {wording.short(found.val_mean)} from val_data, where feature {there} has "
                f"{wording.short(found.mean_there)}",
                found.val_mean,
            ),
            Evidence(f"{moved} of {len(found.order)} features are in another place{backwards}", float(moved)),
        ),
        why="the model finds in each feature what it has learnt to find in another one",
        fix=Fix("read both by the same function: the same order of colours (RGB or BGR), the same order of columns"),
        not_this="more regularisation: what it has learnt does carry over",
        cures=(*((_RESCALED,) if scale else ()), _REORDERED),
    )


_RESCALED = Cure("val_data_rescaled", "val_data on the scale of data", {"how": "on the scale of data"})
_REORDERED = Cure("val_data_rescaled", "val_data in the order of data", {"how": "in the order of data"})


def _suspicion(inputs: list[ScaleRecord], targets: list[ScaleRecord], symptom: Symptom) -> Suspicion | None:
    if not inputs and not targets:
        return None
    worst = max(inputs or targets, key=lambda s: s.largest)
    return Suspicion(
        statement=_statement(inputs, targets),
        evidence=tuple(_evidence(s) for s in (*inputs[:2], *targets[:1])),
        why="weights are initialised for values around 0 with a spread of about 1",
        places=() if worst.place is None else (worst.place,),
        fix=_fix(inputs, targets),
        not_this="a smaller learning rate: each feature would need its own" if inputs else _NOT_THIS,
        cures=tuple(_cures(inputs, targets, symptom)),
    )


_NOT_THIS = "a larger learning rate or more epochs: the output has a long way to go in small steps"


def _statement(inputs: list[ScaleRecord], targets: list[ScaleRecord]) -> str:
    found = max(inputs, key=lambda s: s.largest) if inputs else targets[0]
    summary = f"values of {found.name} lie between {wording.short(found.low)} and {wording.short(found.high)}"
    return summary if inputs else f"targets: {summary}"


def _evidence(scale: ScaleRecord) -> Evidence:
    what = "is compared with the output" if scale.target else "is the input of the first weights"
    return Evidence(
        f"{scale.name} {what}: features have a mean of {wording.short(scale.mean)} and a spread of "
        f"{wording.short(scale.std)} (about 0 and 1 are usual)",
        max(scale.mean, scale.std),
        scale.place,
    )


def _cures(inputs: list[ScaleRecord], targets: list[ScaleRecord], symptom: Symptom) -> list[Cure]:
    """One alone first: a cure that does more than it has to shows less.

    What is unstable may have been given a tiny learning rate for that reason. That standardised data bears ten times
    as much shows what the trouble was.
    """
    ways = []
    if inputs:
        ways.append(("inputs standardised", {"inputs": _STANDARD}, _fix(inputs, [])))
    if targets:
        ways.append(("targets standardised", {"targets": _STANDARD}, _fix([], targets)))
    if len(ways) > 1:
        both = {"inputs": _STANDARD, "targets": _STANDARD}
        ways.append(("inputs and targets standardised", both, _fix(inputs, targets)))
    cures = [Cure("standardised_inputs", label, options, fix) for label, options, fix in ways]
    if symptom.category in (INSTABILITY, EXPLOSION):
        label, options, fix = ways[-1]
        faster = Fix(f"{fix.instruction.rstrip(':')}, then raise the learning rate:", fix.code)
        label = f"{label}, learning rate x {_FASTER:g}"
        cures.append(Cure("standardised_inputs", label, {**options, "rate": _FASTER}, faster))
    return cures


def _fix(inputs: list[ScaleRecord], targets: list[ScaleRecord]) -> Fix:
    lines = []
    if inputs:
        lines.append("inputs = (inputs - train_inputs.mean(0)) / train_inputs.std(0)")
    if targets:
        lines.append("targets = (targets - train_targets.mean(0)) / train_targets.std(0)")
    return Fix("standardise with the statistics of the training set:", tuple(lines))
