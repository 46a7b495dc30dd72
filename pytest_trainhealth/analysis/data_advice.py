"""What is odd about data and may still be right: advice, in the notes of a test that passes.

Each names the cause whose page says more, with the command that prints it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import wording
from ..records.survey import ClassSurvey, FieldSurvey, SharedSamples, SurveyRecord, placed
from .data_faults import SOME_NEAR

#: KNOWLEDGE: the largest class more than 10 times the smallest. With fewer labels than 100 that may be chance.
IMBALANCE, _LABELS = 10.0, 100
#: Of all pixels or tokens, in the rarest class. By judgement: a guess of the others is right in 99 %.
_TINY = 0.01
#: KNOWLEDGE: feature means beyond 1 or spreads beyond 10, as the mean over the features.
_MEAN, _SPREAD = 1.0, 10.0
#: One feature of many, times the median one. By judgement: 100, and as large as the 50 of analysis/data_scale.py.
_ONE_FEATURE, _LARGE = 100.0, 50.0
#: A sample this many times as large as the median one: at most 11 in 257 healthy programs (causes/outliers.py).
_OUTLYING = 30.0
#: Fewest samples for a feature to be called constant. By judgement: a category of 1 % is missing in 100 samples once in
#: three times, in 500 hardly ever.
_SAMPLES = 500
#: Share of the samples that are there twice. By judgement: a tenth is more than a few doubled rows.
_REPEATED = 0.1
#: Label noise: of the places where neighbours agree, at least this share of all, and beyond two standard errors.
#: By judgement: 3 % is about what the test sets of common benchmarks have (Northcutt and others, 2021: 3.4 %).
_NOISE, _AGREED = 0.03, 0.3
#: Of a batch, the share of its largest class; and that of all batches. By judgement: with two even classes in batches
#: of 8 the first is 0.64.
_SORTED, _MIXED = 0.95, 0.6
#: Batches. By judgement: fewer than 4 show no order.
_BATCHES = 4


def notes(found: SurveyRecord) -> Iterator[str]:
    for each in found.bad_values:
        stays = "; a step with it stays finite, as with missing values" if each.source == "data" else ""
        yield explained("nan-in-data", f"{each.where} holds NaN or Inf in batch{each.name}{stays}")
    for classes in found.classes:
        yield from _balance(classes)
    for field in found.fields:
        if field.is_input:
            yield from _features(field)
    yield from _samples(found)
    yield from _validation(found)
    if not found.complete and found.watched:
        yield f"only the batches were looked at that {wording.plural(found.batches, 'step')} were given"
    elif not found.complete:
        yield f"{wording.plural(found.samples, 'sample')} of data were looked at, not all: max_batches= reads more"
    if found.uneven:
        yield "whether samples are there twice was not looked at: batches have no row for each sample, or other shapes"


def explained(cause: str, words: str) -> str:
    return f"{cause}: {words} (pytest --trainhealth-explain {cause})"


def _balance(classes: ClassSurvey) -> Iterator[str]:
    counts, total = classes.counts, sum(classes.counts.values())
    if len(counts) < 2 or total < _LABELS:
        return
    rare, common = min(counts, key=lambda k: counts[k]), max(counts, key=lambda k: counts[k])
    if classes.dense and counts[rare] < _TINY * total:
        share = wording.share(counts[rare] / total)
        yield explained(
            "class-imbalance",
            f"class {rare} is {share} of batch{classes.name}, class {common} {wording.share(counts[common] / total)}",
        )
    elif not classes.dense and counts[common] > IMBALANCE * counts[rare]:
        times = wording.short(counts[common] / counts[rare])
        yield explained(
            "class-imbalance",
            f"class {common} of batch{classes.name} has {wording.plural(counts[common], 'sample')}, class {rare} has "
            f"{wording.count(counts[rare])}: {times} times as many (10 is a lot)",
        )
    several = _BATCHES <= classes.batches <= classes.samples / 2  # a batch of one is always one class
    if several and classes.in_a_batch > _SORTED and classes.overall < _MIXED and not classes.dense:
        share = wording.share(classes.in_a_batch)
        yield f"batches are sorted by class: on average {share} of a batch is one class: shuffle, unless it is meant"


def _features(field: FieldSurvey) -> Iterator[str]:
    name = f"batch{field.name}"
    if field.outlier is not None and field.outlier_ratio > _OUTLYING:  # one sample must not set the scale of all
        where, times = placed("data", *field.outlier), wording.short(field.outlier_ratio)
        yield explained("outliers", f"{where} is {times} times as large as most, in {name}")
    elif field.features > 1 and field.largest > _ONE_FEATURE * field.usual and field.largest > _LARGE:
        yield explained(
            "unnormalized-inputs",
            f"feature {field.largest_feature} of {name} is of size {wording.short(field.largest)}, the median one of "
            f"{wording.short(field.usual)}",
        )
    elif field.mean > _MEAN or field.std > _SPREAD:
        yield explained(
            "unnormalized-inputs",
            f"features of {name} have a mean of {wording.short(field.mean)} and a spread of {wording.short(field.std)} "
            "(about 0 and 1 are usual)",
        )
    if field.is_table and 0 < field.constant < field.looked_at and field.samples >= _SAMPLES:
        which = f"feature {field.first_constant}" if field.constant == 1 else f"{field.constant} features"
        yield explained(
            "constant-features",
            f"{which} of {name} {'has' if field.constant == 1 else 'have'} one value in all of "
            f"{wording.plural(field.samples, 'sample')}",
        )


def _samples(found: SurveyRecord) -> Iterator[str]:
    comes_round = found.watched and not found.complete  # a second epoch has all samples of the first once more
    if found.samples >= _LABELS and found.repeated > _REPEATED * found.samples and not comes_round:
        share = wording.share(found.repeated / found.samples)
        yield explained("duplicated-samples", f"{share} of {wording.plural(found.samples, 'sample')} were there before")
    noise = found.noise
    if noise is not None and noise.agreed > _AGREED * noise.samples and noise.rate - noise.uncertainty > _NOISE:
        yield explained(
            "label-noise",
            f"{wording.share(noise.rate)} of the labels (give or take {wording.share(noise.uncertainty)}) differ from "
            f"those of their neighbours, of {wording.plural(noise.agreed, 'sample')} whose neighbours agree",
        )
    for copy in found.copies:
        if copy.noise:
            yield explained("target-leakage", f"{copy.feature} says what the target is: toy data may be like that")


def _why_not_a_fault(shared: SharedSamples) -> str:
    if shared.otherwise:
        return f"and {wording.count(shared.otherwise)} with another target or mask, as in one graph"
    return "which chance may explain" if shared.by_chance or shared.enumerable else "too few to matter"


def _validation(found: SurveyRecord) -> Iterator[str]:
    shared = found.shared
    if shared is not None and shared.shared:
        yield explained(
            "data-leakage",
            f"{wording.count(shared.shared)} of {wording.plural(shared.samples, 'sample')} of val_data "
            f"{wording.is_or_are(shared.shared)} also in data, " + _why_not_a_fault(shared),
        )
    if shared is not None and shared.near and not shared.enumerable:
        yield explained(
            "data-leakage",
            f"{wording.count(shared.near)} of {wording.plural(shared.samples, 'sample')} of val_data differ from one "
            "in data by less than a hundredth of a spread",
        )
    near = found.near_copies
    if near is not None and near.near > SOME_NEAR * near.samples:
        yield explained(
            "data-leakage",
            f"{wording.count(near.near)} of {wording.plural(near.samples, 'sample')} of val_data are nearly samples of "
            "data: fewer than where all were augmented before a split",
        )
    if found.val_augmented:
        yield "val_data are drawn at random: two readings of a sample differ. Leave augmentation to data"
    if found.val_shuffled:
        yield "val_data come in a random order, which no evaluation needs"
