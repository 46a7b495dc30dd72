"""Classes that hardly come in `data` and often in `val_data`: what is learnt there is an answer to another question.

Classes of different sizes are no fault by themselves: a model learns how often each comes, too, and is right about that
as long as they come as often later on. Who validates on other shares says that they do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records.survey import ClassSurvey, SurveyRecord

#: Of `data`, at most. By judgement: 2 %, of which a batch of 32 holds none in every second step.
_HARDLY = 0.02
#: Of `val_data`, at least, and how many: by judgement a tenth, and 20, whose share that is told is known within 11 %.
_OFTEN, _FEWEST = 0.1, 20
#: Times. KNOWLEDGE.md calls classes imbalanced where one comes more than 10 times as often as another.
_TIMES = 10.0


@dataclass(frozen=True)
class ShortClass:
    classes: ClassSurvey
    label: int
    #: How many there are, of how many, in `data` and in `val_data`.
    count: int
    total: int
    val_count: int
    val_total: int
    #: What each class has to weigh so that it counts as in `val_data`.
    weights: dict[int, float]

    @property
    def share(self) -> float:
        return self.count / self.total

    @property
    def val_share(self) -> float:
        return self.val_count / self.val_total


def short_class(found: SurveyRecord | None) -> ShortClass | None:
    """The class that is rarest in `data` compared with `val_data`; the loss counts every label alike."""
    if found is None or found.watched or not found.complete or found.repeats_meant or found.val_is_data:
        return None
    for classes in found.classes:
        held = next((each for each in found.val_classes if each.name == classes.name), None)
        if held is None or classes.dense or held.dense or not classes.counted_alike:
            continue
        total, val_total = sum(classes.counts.values()), sum(held.counts.values())
        shares = {label: held.counts.get(label, 0) / val_total for label in classes.counts}
        label = min(classes.counts, key=lambda each: classes.counts[each] / total / max(shares[each], 1 / val_total))
        count, val_count = classes.counts[label], held.counts.get(label, 0)
        own, other = count / total, val_count / val_total
        if own > _HARDLY or other < _OFTEN or val_count < _FEWEST or other < _TIMES * own:
            continue
        weights = {each: shares[each] / (classes.counts[each] / total) for each in classes.counts}
        return ShortClass(classes, label, count, total, val_count, val_total, weights)
    return None
