"""Whether what is odd about data does harm: tried, over some steps, with it and without it.

A raw column beside standardised ones, a code for missing values among the values, a class that hardly ever comes: many
trainings bear these, so each is advice by itself. It is a fault where the same training, from the same start, learns
next to nothing with it and plainly without; or, for a class, where it is so rare that nothing was learnt of it, and the
loss does nothing about that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import Literal

from .. import wording
from ..records.intervention import Cure
from ..records.judgement import NeedsControl
from ..records.survey import ClassSurvey, FieldSurvey, SurveyRecord
from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Symptom

#: Steps of each run. By judgement: as many as learns_from_data takes.
STEPS = 80
AS_IT_IS = Cure("once_more", f"as it is, {STEPS} steps")
STANDARDISED = Cure("standardised_inputs", f"inputs standardised, {STEPS} steps", {"inputs": 3.0})
LEFT_OUT = Cure("drop_bad_samples", f"these samples left out, {STEPS} steps", {"beyond": 30.0})

#: One feature of many, times the median one, and its size. By judgement: 100 and 50, as in analysis/data_advice.py.
ONE_FEATURE, LARGE = 100.0, 50.0
#: Times the largest value of the median sample: at most 11 in the 257 healthy programs (causes/outliers.py).
FAR_BEYOND = 100.0
#: Of the first loss, what has to be left at most without the oddity; and of that gain, what is reached with it at most.
#: By judgement: a training that is merely slower with it is no sick one.
_LEARNS, _NEXT_TO_NOTHING = 0.7, 0.25
#: Of a run: its end, whose median counts, and the values at its beginning. By judgement: a third, and 3.
_END, _FIRST = 3, 3
#: Samples of the rarest of two classes, and of all. By judgement: from fewer than 10 nothing is learnt that would hold
#: for others, and nothing can be measured.
_FEWEST, _OF_ALL = 10, 1000
#: Of all pixels or tokens, where there are two classes. By judgement: below 0.1 % a loss that counts all of them alike
#: is that of the others.
_OF_PIXELS = 0.001
#: Samples or pixels of that class that have to have come in the second half. By judgement: 2, of 10 or fewer.
_CAME = 2

HarmKind = Literal["scale", "outliers", "rare class"]


@dataclass(frozen=True)
class Harm:
    kind: HarmKind
    #: What it is, in words, and what was measured with and without.
    words: str
    with_it: float
    without: float
    field: FieldSurvey | None = None
    classes: ClassSurvey | None = None
    cure: Cure | None = None


def shown_harm(found: SurveyRecord, controls: Mapping[str, Trace]) -> Harm | NeedsControl | None:
    """The first that does harm, or the run that it takes to know."""
    for kind, field, classes, cure in _suspects(found):
        for wanted in (AS_IT_IS, cure):
            if wanted is not None and wanted.label not in controls:
                return NeedsControl(wanted, steps=STEPS)
        plain = controls[AS_IT_IS.label]
        if cure is not None and field is not None:
            levels = _levels(plain, controls[cure.label])
            if levels is not None:
                return Harm(kind, _words(kind, field), *levels, field=field, cure=cure)
        if classes is not None:
            came, recognised = _of_the_rare(plain, classes)
            if came >= _CAME and not recognised:
                rare, total = classes.counts[classes.rarest], sum(classes.counts.values())
                what = "values" if classes.dense else "samples"
                words = f"class {classes.rarest} of batch{classes.name} has {wording.count(rare)} of "
                return Harm(kind, f"{words}{wording.count(total)} {what}", 0.0, float(came), classes=classes)
    return None


def symptom_of(harm: Harm) -> Symptom:
    if harm.kind == "rare class":
        summary = (
            f"{harm.words}, and none of the {wording.count(int(harm.without))} that came in the last {STEPS // 2} of "
            f"{STEPS} steps is told (expected some)"
        )
        return Symptom(summary, FAULTY_DATA, 0.0, harm.without, "medium", f"{harm.words}, and is never told")
    reached = wording.loss(harm.with_it) if isfinite(harm.with_it) else "no finite value"
    return Symptom(
        f"{harm.words}: in {STEPS} steps the loss comes to {reached}, and without it to {wording.loss(harm.without)} "
        "(expected as low)",
        FAULTY_DATA,
        harm.with_it,
        harm.without,
        "high",
        harm.words,
    )


def _suspects(
    found: SurveyRecord,
) -> Iterator[tuple[HarmKind, FieldSurvey | None, ClassSurvey | None, Cure | None]]:
    if found.watched:
        return
    for field in found.fields:
        one_feature = field.features > 1 and field.largest > max(LARGE, ONE_FEATURE * field.usual)
        far_out = field.outlier is not None and field.outlier_ratio > FAR_BEYOND
        if field.is_input and far_out and not (one_feature and field.raw_column):
            yield "outliers", field, None, LEFT_OUT
        elif field.is_input and one_feature:
            yield "scale", field, None, STANDARDISED
    for classes in found.classes:
        if found.complete and classes.counted_alike and not found.repeats_meant and is_starved(classes):
            yield "rare class", None, classes, None


def is_starved(classes: ClassSurvey) -> bool:
    if len(classes.counts) != 2:
        return False
    rare, total = min(classes.counts.values()), sum(classes.counts.values())
    return rare < _OF_PIXELS * total if classes.dense else rare < _FEWEST and total >= _OF_ALL


def _words(kind: HarmKind, field: FieldSurvey) -> str:
    if kind == "scale":
        return (
            f"feature {field.largest_feature} of batch{field.name} is of size {wording.short(field.largest)}, the "
            f"median one of {wording.short(field.usual)}"
        )
    return f"samples of batch{field.name} are up to {wording.short(field.outlier_ratio)} times as large as most"


def _levels(plain: Trace, without: Trace) -> tuple[float, float] | None:
    """Where both runs came to, if the one with the oddity has learnt next to nothing of what the other has."""
    if without.crash is not None or not without.finite or len(without.losses) < STEPS or plain.crash is not None:
        return None
    start, end = median(without.losses[:_FIRST]), _end(without)
    if start <= 0 or end > _LEARNS * start:
        return None
    reached = _end(plain) if plain.finite and len(plain.losses) >= STEPS else inf
    return (reached, end) if start - reached < _NEXT_TO_NOTHING * (start - end) else None


def _end(trace: Trace) -> float:
    return median(trace.losses[-len(trace.losses) // _END :])


def _of_the_rare(trace: Trace, classes: ClassSurvey) -> tuple[int, int]:
    """How many labels of it came in the second half, and how many of these the model told."""
    late = [each for each in trace.data.told_classes if each.step >= STEPS // 2 and each.label == classes.rarest]
    return sum(each.came for each in late), sum(each.recognised for each in late)
