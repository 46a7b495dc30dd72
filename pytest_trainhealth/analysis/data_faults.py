"""What is wrong with data beyond doubt, out of a look through them: each fault was shown, none is a matter of taste."""

from __future__ import annotations

from math import sqrt

from .. import wording
from ..records.survey import (
    BadLabels,
    BadValues,
    FieldSurvey,
    NearCopies,
    SharedSamples,
    SurveyRecord,
    TargetCopy,
)
from ..records.symptoms import FAULTY_DATA
from ..records.verdict import Symptom
from .told_labels import by_chance, mismatched_labels, wrong_labels

#: Validation samples that are also in the data. By judgement: CIFAR-10's own two halves share less than 1 %, and with
#: fewer than 3 a blank image or an empty text may be all there is.
SHARED_SHARE, FEWEST_SHARED = 0.01, 3
#: Samples with the same inputs and something else beside them, compared with those that are the same in everything. By
#: judgement: with a tenth, it is not the samples that were split but what is asked about them, as in one graph.
OTHERWISE = 0.1
#: Standard deviations beyond what chance puts there. By judgement: 5 happen once in three million sets.
BEYOND_CHANCE = 5.0

#: Of the validation samples, those that are nearly in `data`. Digits that are drawn at a few places with a little noise
#: come to 0.1, by chance; where each sample was augmented once before a split, four of five have a copy on the other
#: side. By judgement in between.
_NEAR_SHARE, _FEWEST_NEAR = 0.5, 10
#: Of them, those that are worth a note. By judgement: a tenth.
SOME_NEAR = 0.1
#: Samples, how many different ones there are of them, and what share of them is there more than once; of `val_data`
#: what share may be. By judgement: oversampling repeats the samples of rare classes, and none of the others.
_COPIED, _DIFFERENT, _OF_SEVERAL, _VAL_REPEATED, _VAL_SAMPLES = 100, 0.25, 0.95, 0.05, 20
#: Inputs that are hardly any: samples, how many different inputs there are of them, features, and the share of these
#: that never change. By judgement: a hundredth and nine tenths; a table of a few categories uses all its columns.
_MANY, _FEW_INPUTS, _FEATURES, _NEVER_CHANGE = 500, 0.01, 8, 0.9
#: Of a table: so many features that never change are most of it. By judgement: three quarters; they count only where
#: those that are left say nothing about the targets, in both sets.
_MOST_CONSTANT = 0.75


def harmful_values(found: SurveyRecord) -> BadValues | None:
    return next((each for each in found.bad_values if each.source == "data" and each.tried and each.outcome), None)


def harmful_labels(found: SurveyRecord) -> BadLabels | None:
    """Labels that the loss really got: a step may have taken them out before."""
    return next((each for each in found.bad_labels if each.source == "data" and each.tried and each.given), None)


def leak(found: SurveyRecord) -> SharedSamples | None:
    shared = found.shared
    if shared is None or shared.enumerable or shared.otherwise > OTHERWISE * shared.shared:
        return None
    expected = min(shared.by_chance, float(shared.samples))
    spread = sqrt(expected * (1 - expected / shared.samples)) if shared.samples else 0.0
    least = max(FEWEST_SHARED, SHARED_SHARE * shared.samples, expected + BEYOND_CHANCE * spread)
    return shared if shared.shared >= least and shared.shared > expected else None


def copied_target(found: SurveyRecord) -> TargetCopy | None:
    return next((each for each in found.copies if not each.noise), None)


def near_leak(found: SurveyRecord) -> NearCopies | None:
    copies = found.near_copies
    if copies is None or copies.near < max(_FEWEST_NEAR, _NEAR_SHARE * copies.compared_with * copies.samples):
        return None
    return copies


def copied_samples(found: SurveyRecord) -> bool:
    """Every sample is there several times, by measured values, and those of `val_data` are not."""
    several = found.samples >= _COPIED and found.measured and found.of_several > _OF_SEVERAL
    few = found.different_samples <= _DIFFERENT * (found.different_samples + found.repeated)
    other = found.val_samples >= _VAL_SAMPLES and found.val_repeated <= _VAL_REPEATED * found.val_samples
    return several and few and other and not found.repeats_meant and not found.val_is_data


def hardly_any_inputs(found: SurveyRecord) -> FieldSurvey | None:
    """Nearly all features never change, so that many samples share a few inputs, and these have several targets."""
    if found.samples < _MANY or found.different_inputs > _FEW_INPUTS * found.samples:
        return None
    inputs = [each for each in found.fields if each.is_input]
    if len(inputs) != 1 or not inputs[0].is_table or found.different_samples <= found.different_inputs:
        return None
    field = inputs[0]
    return field if field.looked_at >= _FEATURES and field.constant >= _NEVER_CHANGE * field.looked_at else None


def mostly_constant(found: SurveyRecord) -> FieldSurvey | None:
    """Most features of a table of measured numbers never change, and those that do say nothing about the targets.

    Codes of categories that never came look like that, too, but change between a few values where they do.
    """
    held, inputs = found.held_out_labels, [each for each in found.fields if each.is_input]
    if held is None or len(inputs) != 1 or found.samples < _MANY or not inputs[0].is_table:
        return None
    field = inputs[0]
    if field.looked_at < _FEATURES or field.constant < _MOST_CONSTANT * field.looked_at or not field.rest_is_measured:
        return None
    known = not by_chance(held.predicted, held.chance, held.samples, held.classes)
    val_known = not by_chance(held.val_told_by_itself, held.val_chance, held.val_samples, held.classes)
    return None if known or val_known else field


def same_batches(found: SurveyRecord) -> int:
    """Copies in a list count only beside `val_data`: without them it may be a test of a few steps."""
    if found.dataset_size is None and (not found.val_samples or found.val_is_data):
        return 0
    return found.same_batches


def kinds(found: SurveyRecord) -> tuple[str, ...]:
    """The faults that the data have, the first of which is reported."""
    faults = {
        "values": harmful_values(found),
        "labels": harmful_labels(found),
        "leak": leak(found),
        "copy": copied_target(found),
        "pairs": found.other_order or mismatched_labels(found),
        "wrong labels": wrong_labels(found),
        "near": near_leak(found),
        "inputs": found.same_inputs or hardly_any_inputs(found) or mostly_constant(found),
        "batches": same_batches(found),
        "samples": copied_samples(found),
        "worker batches": found.batches_per_worker,
        "worker randomness": found.worker_randomness,
    }
    return tuple(kind for kind, fault in faults.items() if fault)


def first_fault(found: SurveyRecord) -> Symptom | None:
    values, labels = harmful_values(found), harmful_labels(found)
    if values is not None:
        return _symptom(
            f"{values.where} holds NaN or Inf in batch{values.name}, and a step with its batch {values.outcome}",
            values.count,
            0,
            f"{values.where} holds values that are not finite",
        )
    if labels is not None:
        summary = f"{wording.plural(labels.count, 'label')} of batch{labels.name} {wording.is_or_are(labels.count)}"
        return _symptom(
            f"{summary} not allowed by {labels.function}, first in {labels.where} (expected 0)",
            labels.count,
            0,
            f"{labels.function} does not allow the label of {labels.where}",
        )
    return _twice(found) or _same(found) or _labels(found)


def on_both_sides(found: SurveyRecord) -> Symptom | None:
    """Samples of `val_data` that are also in `data`: equal ones, or nearly so."""
    shared, near = leak(found), near_leak(found)
    if shared is not None:
        of_all = f"{wording.count(shared.shared)} of {wording.count(shared.samples)} samples of val_data"
        return _symptom(
            f"{of_all} are also in data (by chance about {wording.short(shared.by_chance)})",
            shared.shared,
            shared.by_chance,
            f"{wording.share(shared.shared / shared.samples)} of val_data is also in data",
        )
    if near is not None:
        return _symptom(
            f"{wording.count(near.near)} of {wording.count(near.samples)} samples of val_data are nearly samples of "
            f"data (by chance about {wording.short(0)})",
            near.near,
            0,
            f"{wording.share(near.near / near.samples)} of val_data is nearly in data",
        )
    return None


def _twice(found: SurveyRecord) -> Symptom | None:
    copy = copied_target(found)
    if copy is None or leak(found) is not None:
        return on_both_sides(found)
    return _symptom(
        f"{copy.feature} {_made_from(copy)}, batch{copy.target}, in all of "
        f"{wording.plural(copy.samples, 'sample')} (expected fewer)",
        copy.samples,
        0,
        f"{copy.feature} {_made_from(copy)}",
    )


def _made_from(copy: TargetCopy) -> str:
    return "is the target" if copy.is_target else "is made from the target"


def _same(found: SurveyRecord) -> Symptom | None:
    if found.same_inputs:
        return _symptom(
            f"all {wording.count(found.samples)} samples have the same batch{found.same_inputs}, and different targets "
            "(expected several different ones)",
            1,
            2,
            "all samples have the same inputs",
        )
    sparse = hardly_any_inputs(found)
    if sparse is not None:
        return _symptom(
            f"{wording.count(found.samples)} samples have {found.different_inputs} different batch{sparse.name}: "
            f"{sparse.constant} of {sparse.looked_at} features never change (expected few)",
            sparse.constant,
            0,
            f"{wording.share(sparse.constant / sparse.looked_at)} of the features never change",
        )
    few = mostly_constant(found)
    if few is not None:
        return _symptom(
            f"{few.constant} of {few.looked_at} features of batch{few.name} never change in "
            f"{wording.plural(found.samples, 'sample')}, and the others say nothing about the targets (expected some)",
            few.constant,
            0,
            f"{wording.share(few.constant / few.looked_at)} of the features never change",
        )
    if same_batches(found):
        loader = found.dataset_size is not None
        of_all = f", out of {wording.count(found.dataset_size or 0)} samples" if loader else ", each a copy of its own"
        return _symptom(
            f"{'the loader yields' if loader else 'the list holds'} the same batch "
            f"{wording.count(found.same_batches)} times{of_all} (expected different ones)",
            found.same_batches,
            1,
            "the loader yields the same batch again and again" if loader else "all batches of the list are the same",
        )
    if found.batches_per_worker:
        return _symptom(
            f"every batch comes {found.batches_per_worker} times, once from each worker (expected once)",
            found.batches_per_worker,
            1,
            "every worker yields the same batches",
        )
    drawn = found.worker_randomness
    if drawn is not None:
        return _symptom(
            f"all of {drawn.workers} workers read a sample with the same random numbers (expected different ones)",
            drawn.workers,
            1,
            "all workers draw the same random numbers",
        )
    if copied_samples(found):
        every = found.different_samples + found.repeated
        return _symptom(
            f"of {wording.count(every)} samples {wording.count(found.different_samples)} are different, each is there "
            f"about {wording.short(every / found.different_samples)} times; those of val_data once (expected once)",
            every / found.different_samples,
            1,
            f"each sample of data is there about {wording.short(every / found.different_samples)} times",
        )
    return None


def _labels(found: SurveyRecord) -> Symptom | None:
    order, apart, wrong = found.other_order, mismatched_labels(found), wrong_labels(found)
    if order is not None:
        what = f"{wording.count(order.samples)} targets" if order.kind == "classes" else "the targets' variance"
        return _symptom(
            f"{wording.share(max(order.used, 0.0))} of {what} can be predicted from the inputs as they are paired, and "
            f"{wording.share(order.best)} when each input gets the target of {order.order}",
            order.used,
            order.best,
            "inputs fit the targets of other samples",
        )
    if apart is not None:
        what = "of the labels" if apart.classes else "of the targets' variance"
        return _symptom(
            f"inputs tell {wording.share(max(apart.predicted, 0.0))} {what} in data (by chance "
            f"{wording.share(apart.chance)}), and {wording.share(apart.val_told_by_itself)} in val_data (expected as "
            "many in both)",
            apart.predicted,
            apart.val_told_by_itself,
            "the targets of data do not belong to their inputs, those of val_data do",
        )
    if wrong is not None:
        return _symptom(
            f"about {wording.share(wrong.share)} of the labels of data are wrong, give or take "
            f"{wording.share(wrong.uncertainty)} (at most {wording.share(wrong.most)}): those of val_data are right",
            wrong.share,
            wrong.most,
            f"about {wording.share(wrong.share)} of the labels of data are wrong",
        )
    return None


def _symptom(summary: str, measured: float, limit: float, headline: str) -> Symptom:
    return Symptom(summary, FAULTY_DATA, float(measured), float(limit), "high", headline)
