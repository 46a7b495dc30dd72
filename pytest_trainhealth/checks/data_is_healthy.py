"""data_is_healthy: values are finite, labels allowed, and nothing is there twice that should be there once

What it does
    Takes one step, which shows what are inputs and what are targets, and then looks through `data` and `val_data`: up
    to 32 batches of a loader, or 24 million values that lie in memory (`max_batches=` reads more). Of each sample it
    keeps 8 bytes, so that a million of them fit into memory. What is odd and may do harm (one raw column, a code for
    missing values, a class that hardly ever comes) is tried: 80 steps with it, and 80 without.

When it fails
    Values are NaN or Inf, and a step with them ends with a loss or weights that are not finite. Labels are outside of
    what the loss allows, and it is given them. Samples of `val_data` are in `data`, more of them than chance puts
    there, or half of them nearly. A feature is the target, or made from it. Targets fit the inputs in another order, or
    not at all while those of `val_data` do; or more than 15 % of the labels are wrong, by `val_data`. All samples have
    the same inputs, and different targets; or most features never change, and the others say nothing about them. A
    loader yields the same batch again and again, or each batch once from
    every worker, or its workers draw the same random numbers; every sample is there several times. With what is odd,
    80 steps learn next to nothing, and without it they do.

What is not an alarm
    Classes of different sizes, labels that differ from those of their neighbours, features without scaling or without
    any variation, outliers, samples that are there twice, batches that are sorted by class, validation data that are
    drawn at random: these are notes of a test that passes, as long as the training bears them. NaN that a training
    takes for missing values. Small sets of values that any two data sets share. Oversampling.

When it cannot judge
    `val_data` is `data` itself, as in a smoke test: nothing is held out. A batch cannot be read. Of a watched test only
    the batches are seen that it trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis import data_advice, data_faults, data_harm
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, NeedsControl, Passed
from ..records.survey import SurveyRecord
from ..records.trace import Trace

SIGNALS = ("survey", "told_classes")
ONE_BATCH = False
BLAMES_RATES = False
#: 1 shows what are inputs and what are targets.
STEPS = 1


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    found = trace.data.survey
    if found is None:
        return CouldNotJudge(trace.cut_short or "no batch was seen: the steps were given none, and no loader was read")
    symptom = data_faults.first_fault(found)
    if symptom is not None:
        return symptom
    doubt = _doubt(found)
    if doubt:
        return CouldNotJudge(doubt, _figures(found))
    harm = data_harm.shown_harm(found, controls)
    if isinstance(harm, NeedsControl):
        return harm
    return Passed(tuple(data_advice.notes(found)), _figures(found)) if harm is None else data_harm.symptom_of(harm)


def _doubt(found: SurveyRecord) -> str:
    if found.why_not:
        return found.why_not
    if not found.samples:
        return "no field of a batch has a row for each sample"
    if found.val_is_data:
        return "val_data is data itself, or some of its batches: nothing is held out. In a smoke test, leave it away"
    untried = next((each for each in found.bad_values if each.source == "data" and not each.tried), None)
    if untried is not None:
        where = untried.where
        return f"{where} holds NaN or Inf, and no step could be taken with it: they may be meant as missing values"
    return ""


def _figures(found: SurveyRecord) -> dict[str, float | None]:
    shared, noise = found.shared, found.noise
    return {
        "samples": float(found.samples),
        "val_samples": float(found.val_samples),
        "repeated_samples": float(found.repeated),
        "shared_samples": None if shared is None else float(shared.shared),
        "label_noise": None if noise is None else noise.rate,
    }


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    found = trace.data.survey
    if found is None:
        return "no data seen"
    symptom = data_faults.first_fault(found)
    if symptom is not None:
        return symptom.headline
    return f"{wording.plural(found.samples, 'sample')} without a fault"


def clearly_better(trace: Trace, failed_run: FailedRun) -> bool:
    """The fault that was reported is gone. Another one may be left: data may have several."""
    before, now = failed_run.trace.data.survey, trace.data.survey
    if before is None or now is None or now.why_not or not now.samples or trace.crash is not None:
        return False
    return bool(data_faults.kinds(before)) and data_faults.kinds(before)[0] not in data_faults.kinds(now)
