"""labels-not-aligned: the targets belong to other samples or positions than the inputs they are paired with

What happens
    Inputs and targets were put together from two lists that are not in the same order: one is shifted by a header
    line, sorted, shuffled on its own, or rolled in the step. Every batch can be memorised, so the loss falls; what is
    learnt is noise, and does not carry over to any other batch. Or labels of sequences are moved by one position for a
    model that moves them itself: each position learns the token after the next, and text made with it skips.

How severe it is
    High: there is nothing to learn, and the model memorises.

How it is recognised
    From up to 256 samples the targets are predicted by ridge regression on the inputs, each sample left out in turn. As
    they are used, that is no better than chance; in another order (moved by up to four samples, reversed, or in the
    order in which the batch holds them) more than half of what there is to predict can be predicted. No prediction is
    needed for a step that permutes the model's inputs but not the targets, or for a second epoch with the same inputs
    and the same targets, paired differently. Labels moved twice show in the tokens: the labels are one position ahead
    of them, what the loss gets is two ahead. Where the model is given the labels, the re-run moves them back. A look
    through the data also tries the order of names (`10` before `2`), and compares with `val_data`: the same kind of
    inputs, whose targets can be told, while those of `data` cannot. Where only those of `val_data` are moved, what the
    model answers fits the targets of the positions beside its own. A model that sorts its samples and returns them
    sorted is called with them in another order; the loss compares its rows with the targets of the batch as they are.

How to fix it
    Pair them once, at the source, and keep them together from then on: one index for both. For a model that moves
    labels itself, as causal models of Hugging Face do, they are a copy of the tokens.

What not to do
    More data, a larger model or more regularisation against "overfitting": there is nothing to generalise from.

How to prevent it
    Shuffle pairs, never inputs and targets apart; keep them in one record until the batch. `learns_from_data` compares
    with shuffled targets.

When this is wrong
    Where samples follow each other in time, a neighbour's target proves nothing; windows of a series and samples that
    resemble their neighbours are left out. Inputs that no linear or smooth function can predict from are not judged.
    A model with more heads, for the next token and for later ones, is not reported.
"""

from __future__ import annotations

from .. import wording
from ..analysis import generalization, told_labels
from ..analysis.generalization import fit_of
from ..records.data import Alignment, Repaired
from ..records.held_out import ShiftedTargets
from ..records.intervention import Cure
from ..records.probes import ReturnedOrder, ShiftedTwice
from ..records.survey import HeldOutLabels, OtherOrder
from ..records.symptoms import FAULTY_DATA, PLATEAU, SILENT
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 19
EXPLAINS = (SILENT, PLATEAU, FAULTY_DATA)
CURABLE = False


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        return _in_the_data(trace)
    if trace.probe is not None and trace.probe.shifted_twice:
        return _moved_twice(trace.probe.shifted_twice[0])
    returned = [] if trace.probe is None else [each for each in trace.probe.returned if each.made_by == "user"]
    if returned:
        return _returned(returned[0])
    found = trace.data.alignment
    if found is not None and not found.order and found.at_chance and found.structured and symptom.category == SILENT:
        return _unpredictable(found)
    if found is None or not found.order:
        return None if trace.data.repaired is None else _repaired(trace.data.repaired)
    in_step = found.by == "step"
    statement = (
        "the step gives inputs the targets of other samples"
        if in_step
        else f"each input fits the target of {found.order}, not its own"
    )
    fix = Fix("index inputs and targets alike:", ("inputs, targets = inputs[order], targets[order]",))
    if not in_step:
        fix = Fix("pair inputs and targets once, at the source, and check a few pairs by eye", ())
    return Suspicion(
        statement=statement,
        evidence=_crossed(found)
        if found.crossed
        else (
            Evidence(f"with the targets as the loss uses them: {_describe(found, found.used)}", found.used),
            Evidence(f"with the target of {found.order}: {_describe(found, found.best)}", found.best),
        ),
        why="each input is trained to give the answer of another sample",
        places=() if found.place is None or not in_step else (found.place,),
        fix=fix,
        not_this="more data or regularisation: there is nothing to generalise from",
    )


def _in_the_data(trace: Trace) -> Suspicion | None:
    fit = fit_of(trace)
    moved = None if fit is None else generalization.at_other_positions(fit)
    if moved is not None:
        return _at_other_positions(moved)
    survey = trace.data.survey
    if survey is None:
        return None
    if survey.other_order is not None:
        return _of_another(survey.other_order)
    apart = told_labels.mismatched_labels(survey)
    return None if apart is None else _unlike_val_data(apart)


def _at_other_positions(found: ShiftedTargets) -> Suspicion:
    where = "before" if found.by > 0 else "after"
    return Suspicion(
        statement=f"each target of val_data belongs to the position {'after' if found.by > 0 else 'before'} it",
        evidence=(
            Evidence(
                f"of {wording.count(found.positions)} targets of batch{found.name} in val_data the model tells "
                f"{wording.share(found.right)} as they are paired",
                found.right,
            ),
            Evidence(
                f"compared with the target of the position {where} it, {wording.share(found.right_shifted)} of its "
                "answers are right",
                found.right_shifted,
            ),
        ),
        why="inputs and targets of val_data are not moved alike: a token put in front of one of them, a step cut off",
        fix=Fix("prepare both sets by the same function, which moves inputs and targets together", ()),
        not_this="more data or regularisation: what was learnt does carry over",
    )


def _of_another(found: OtherOrder) -> Suspicion:
    return Suspicion(
        statement=f"each input fits the target of {found.order}, not its own",
        evidence=(
            Evidence(f"with the targets as they are: {_score_words(found, found.used)}", found.used),
            Evidence(f"with the target of {found.order}: {_score_words(found, found.best)}", found.best),
        ),
        why="inputs and targets were put together from two lists in different orders",
        fix=Fix("pair inputs and targets once, at the source, by a key that both have", ()),
        not_this="more data or regularisation: there is nothing to generalise from",
    )


def _score_words(found: OtherOrder, score: float) -> str:
    if found.kind == "classes":
        chance = wording.share(found.chance)
        return f"{wording.share(score)} of {wording.count(found.samples)} can be predicted (by chance {chance})"
    return f"{wording.share(max(score, 0.0))} of the variance can be predicted"


def _unlike_val_data(found: HeldOutLabels) -> Suspicion:
    what = "of the labels" if found.classes else "of the targets' variance"
    return Suspicion(
        statement="the targets of data have nothing to do with their inputs, those of val_data have",
        evidence=(
            Evidence(
                f"in data, {wording.share(max(found.predicted, 0.0))} {what} can be told from the inputs, each sample "
                f"left out in turn (by chance {wording.share(found.chance)})",
                found.predicted,
            ),
            Evidence(
                f"in val_data {wording.share(found.val_told_by_itself)}, in the same way", found.val_told_by_itself
            ),
        ),
        why="the inputs of both are alike; those of data were shuffled, sorted or read apart from their targets",
        fix=Fix("index inputs and targets alike:", ("inputs, targets = inputs[order], targets[order]",)),
        not_this="a larger model or more epochs: all that can be learnt is each sample by heart",
    )


def _moved_twice(found: ShiftedTwice) -> Suspicion:
    positions, share = wording.count(found.positions), wording.share(found.share)
    instruction = "leave it to the model to move them (-100 stays where there is padding):"
    once = Fix(instruction, (f"{found.labels} = {found.tokens}.clone()",))
    moved = Cure("labels_moved_back", "labels moved back by one", {"tokens": found.tokens, "labels": found.labels})
    return Suspicion(
        statement="the labels are moved by one position twice, before the loss and in it",
        evidence=(
            Evidence(f"{found.labels} is {found.tokens}, one position ahead"),
            Evidence(
                f"{found.model} compares the label of each position with the output before it"
                if found.by_asking
                else f"{share} of {positions} targets that the loss is given are the token after the next",
                found.share,
                found.place,
            ),
        ),
        why="each position is trained to give the token after the next one",
        places=() if found.place is None else (found.place,),
        fix=once if found.argument else Fix("move them once, where they are made or in the loss"),
        not_this="longer training: it learns another task than the one that is meant",
        cures=(moved,) if found.argument else (),
    )


def _returned(found: ReturnedOrder) -> Suspicion:
    crossed, samples = wording.count(found.crossed), wording.count(found.samples)
    return Suspicion(
        statement=f"{found.model} returns its samples in another order than it was given them",
        evidence=(
            Evidence(
                f"{found.operation}() puts the samples into an order, and each row of the output is the sample that it "
                "has put there",
                place=found.place,
            ),
            Evidence(
                f"the loss gets these rows as they are, and the targets in the order of the batch: {crossed} of "
                f"{samples} samples get a different target from another sample",
                found.crossed,
            ),
        ),
        why="each sample is trained to give the answer of another one",
        places=() if found.place is None else (found.place,),
        fix=Fix("put the outputs back into the order of the batch:", ("outputs = outputs[order.argsort()]",)),
        not_this="more data or regularisation: there is nothing to generalise from",
    )


def _unpredictable(found: Alignment) -> Suspicion:
    return Suspicion(
        statement="the targets have nothing to do with the inputs",
        evidence=(
            Evidence(f"a probe that leaves each sample out: {_describe(found, found.used)}", found.used),
            Evidence("the inputs are no noise: their values go together"),
        ),
        why="inputs and targets were shuffled, sorted or read apart from each other",
        fix=Fix("pair inputs and targets once, at the source, and check a few pairs by eye", ()),
        not_this="a larger model or more epochs: all that can be learnt is each sample by heart",
    )


def _crossed(found: Alignment) -> tuple[Evidence, ...]:
    samples = wording.count(found.samples)
    return (
        Evidence("the model gets the samples in a different order from the batch"),
        Evidence(
            f"its outputs are compared with the targets in the order of the batch: {wording.count(found.crossed)} of "
            f"{samples} samples get a different target from another sample",
            found.crossed,
            found.place,
        ),
    )


def _repaired(found: Repaired) -> Suspicion:
    samples, changed = wording.count(found.samples), wording.count(found.changed)
    seen, again = f"both epochs have the same {samples} inputs", f"{samples} inputs"
    which = "the second one"
    if found.later > 1:
        epochs, pairs = wording.count(found.later + 1), wording.count(found.later * found.samples)
        seen, again, which = f"all {epochs} epochs have the same {samples} inputs", f"{pairs} pairs", "a later one"
    return Suspicion(
        statement="the same input has a different target in every epoch",
        evidence=(
            Evidence(f"{seen} and, overall, the same targets"),
            Evidence(f"{changed} of {again} have a different target in {which}", found.changed),
        ),
        why="each input is trained to give the answer of another sample, and then of yet another",
        places=() if found.place is None else (found.place,),
        fix=Fix("draw one order and use it for both:", ("inputs, targets = inputs[order], targets[order]",)),
        not_this="more data or regularisation: there is nothing to generalise from",
    )


def _describe(found: Alignment, score: float) -> str:
    if found.kind == "classes":
        chance = wording.share(found.chance)
        return f"{wording.share(score)} of {wording.count(found.samples)} can be predicted (by chance {chance})"
    return f"{wording.share(max(score, 0.0))} of the variance can be predicted"
