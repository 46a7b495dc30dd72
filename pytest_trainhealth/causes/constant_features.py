"""constant-features: features have the same value in every sample

What happens
    What never changes says nothing about a target. A single such feature costs a weight; where all of them are the same
    in all samples, every sample is one and the same, and the best possible answer is the mean of the targets. Usually
    something on the way has overwritten the values: a division of a value by itself, a buffer that is filled again for
    each sample and never copied, a reader that ignores its index.

How severe it is
    High where they should carry information: the model learns without them, and nobody notices.

How it is recognised
    The smallest and the largest value of each feature are the same over all samples that were read. It fails only if
    that holds for every feature of every input, and the targets differ; or if it holds for nine of ten features of a
    table, so that a hundred samples and more share one input and have several targets; or for three quarters of a table
    of measured numbers, where what is left tells nothing about the targets, in `data` and in `val_data`. Else it is a
    note.

How to fix it
    Look at two samples side by side where they are read, then after each transform: the first place where they are the
    same is the culprit. Drop single features that never change.

What not to do
    A larger model or more epochs: there is nothing to learn from.

How to prevent it
    Look at the spread of every column where features are made, and assert that it is not 0. `data_is_healthy` does.

When this is wrong
    A category that is rare may not occur in the samples that were read, borders of images are black, and padding is
    always the same: single features are never more than a note.
"""

from __future__ import annotations

from .. import wording
from ..analysis import data_faults
from ..records.survey import FieldSurvey, SurveyRecord
from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 7
CURABLE = False
EXPLAINS = (FAULTY_DATA,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    survey = trace.data.survey
    if survey is None:
        return None
    sparse = data_faults.hardly_any_inputs(survey)
    if sparse is not None and not survey.same_inputs:
        return _hardly_any(survey, sparse)
    most = data_faults.mostly_constant(survey)
    if not survey.same_inputs:
        return None if most is None else _most_of(survey, most)
    field = next((each for each in survey.fields if each.name == survey.same_inputs), None)
    features = 0 if field is None else field.looked_at
    return Suspicion(
        statement=f"batch{survey.same_inputs} is the same in all {wording.count(survey.samples)} samples",
        evidence=(
            Evidence(
                f"{wording.plural(features, 'feature')} of batch{survey.same_inputs} "
                f"{'has' if features == 1 else 'have'} one value each in {wording.plural(survey.samples, 'sample')}",
                float(features),
            ),
            Evidence("their targets differ: the same input has several of them"),
        ),
        why="something on the way from the source to the batch overwrites the values",
        fix=Fix("compare two samples where they are read, and after each transform"),
        not_this="a larger model or more epochs: there is nothing to learn from",
    )


def _hardly_any(survey: SurveyRecord, field: FieldSurvey) -> Suspicion:
    left = Evidence(
        f"that leaves {survey.different_inputs} different inputs, and the same one has several targets",
        float(survey.different_inputs),
    )
    return _never_change(survey, field, left, "a vocabulary in other letters, a join without a match")


def _most_of(survey: SurveyRecord, field: FieldSurvey) -> Suspicion:
    held = survey.held_out_labels
    assert held is not None
    what = "of the labels" if held.classes else "of the targets' variance"
    chance = f" (by chance {wording.share(held.chance)})" if held.classes else ""
    left = Evidence(
        f"the other {field.looked_at - field.constant} tell {wording.share(max(held.predicted, 0.0))} {what}, "
        f"each sample left out in turn{chance}; in val_data {wording.share(max(held.val_told_by_itself, 0.0))}",
        held.predicted,
    )
    return _never_change(survey, field, left, "a join without a match, a sensor that is not read")


def _never_change(survey: SurveyRecord, field: FieldSurvey, left: Evidence, such_as: str) -> Suspicion:
    of_all = f"{field.constant} of {field.looked_at} features of batch{field.name}"
    values = f"have one value each in {wording.plural(survey.samples, 'sample')}"
    return Suspicion(
        statement=f"{of_all} never change",
        evidence=(Evidence(f"{of_all} {values}", float(field.constant)), left),
        why=f"what should fill them finds nothing: {such_as}",
        fix=Fix("look at a sample where it is read, and after each transform: where do its values get lost?"),
        not_this="a larger model or more epochs: there is hardly anything to learn from",
    )
