"""What is wrong with data beyond doubt, out of a look through them: each fault was shown, none is a matter of taste."""

from __future__ import annotations

from math import sqrt

from .. import wording
from ..records.survey import BadLabels, BadValues, SharedSamples, SurveyRecord, TargetCopy
from ..records.symptoms import FAULTY_DATA
from ..records.verdict import Symptom

#: Validation samples that are also in the data. By judgement: CIFAR-10's own two halves share less than 1 %, and with
#: fewer than 3 a blank image or an empty text may be all there is.
SHARED_SHARE, FEWEST_SHARED = 0.01, 3
#: Samples with the same inputs and something else beside them, compared with those that are the same in everything. By
#: judgement: with a tenth, it is not the samples that were split but what is asked about them, as in one graph.
OTHERWISE = 0.1
#: Standard deviations beyond what chance puts there. By judgement: 5 happen once in three million sets.
BEYOND_CHANCE = 5.0


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


def kinds(found: SurveyRecord) -> tuple[str, ...]:
    """The faults that the data have, the first of which is reported."""
    faults = {
        "values": harmful_values(found),
        "labels": harmful_labels(found),
        "leak": leak(found),
        "copy": copied_target(found),
        "inputs": found.same_inputs,
        "batches": found.same_batches,
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
    return _twice(found) or _same(found)


def _twice(found: SurveyRecord) -> Symptom | None:
    shared, copy = leak(found), copied_target(found)
    if shared is not None:
        of_all = f"{wording.count(shared.shared)} of {wording.count(shared.samples)} samples of val_data"
        return _symptom(
            f"{of_all} are also in data (by chance about {wording.short(shared.by_chance)})",
            shared.shared,
            shared.by_chance,
            f"{wording.share(shared.shared / shared.samples)} of val_data is also in data",
        )
    if copy is not None:
        return _symptom(
            f"{copy.feature} {_made_from(copy)}, batch{copy.target}, in all of "
            f"{wording.plural(copy.samples, 'sample')} (expected fewer)",
            copy.samples,
            0,
            f"{copy.feature} {_made_from(copy)}",
        )
    return None


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
    if found.same_batches:
        return _symptom(
            f"the loader yields the same batch {wording.count(found.same_batches)} times, out of "
            f"{wording.count(found.dataset_size or 0)} samples (expected different ones)",
            found.same_batches,
            1,
            "the loader yields the same batch again and again",
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
    return None


def _symptom(summary: str, measured: float, limit: float, headline: str) -> Symptom:
    return Symptom(summary, FAULTY_DATA, float(measured), float(limit), "high", headline)
