"""What inputs say about their labels, in `data` and in `val_data`: which belong elsewhere, and which are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ..records.survey import HeldOutLabels, SurveyRecord

#: No better than a constant answer: within three deviations, or a tenth of the variance. As in observe's alignment, of
#: random labels the first is 3.1 at most in 2,000 draws, of noise the second 0.08 in 300.
_DEVIATIONS, _EXPLAINED = 3.0, 0.1
#: Of what there is to tell beyond chance, in the other set. By judgement: the two have to be far apart, as in alignment
_PLAINLY_TOLD = 0.5
#: Share of the labels, for sure (below it by two standard errors). By judgement: labels of the crowd and of rules that
#: are meant to be used are wrong in 5 to 15 % of the cases.
WRONG_LABELS = 0.15
#: The same by what was learnt from `val_data`, which may hold the clear cases of the same kind: by judgement a quarter.
#: And so well their own labels have to be told, each left out in turn: by judgement nine tenths.
MANY_WRONG, _TOLD_WELL = 0.25, 0.9
#: By how many standard errors the two sets differ. By judgement: 4 happen once in 15,000 sets.
_STANDARD_ERRORS = 4.0


def mismatched_labels(found: SurveyRecord) -> HeldOutLabels | None:
    """Labels of `data` that their inputs say nothing about, while those of `val_data` can be told from theirs."""
    held = found.held_out_labels
    if held is None or not by_chance(held.predicted, held.chance, held.samples, held.classes):
        return None
    if held.classes and not by_chance(held.val_told, held.val_chance, held.val_samples, held.classes):
        return None
    if held.told_by_val is not None and not by_chance(held.told_by_val, held.chance, held.samples, held.classes):
        return None  # some of them are theirs
    plain = held.val_told_by_itself - held.val_chance > _PLAINLY_TOLD * (1 - held.val_chance)
    return held if plain else None


@dataclass(frozen=True)
class WrongLabels:
    held: HeldOutLabels
    share: float
    #: Two standard errors.
    uncertainty: float
    most: float
    #: By what was learnt from `val_data`.
    by_val: bool = False


def wrong_labels(found: SurveyRecord) -> WrongLabels | None:
    held = found.held_out_labels
    if held is None or not held.classes:
        return None
    if not by_chance(held.predicted, held.chance, held.samples, held.classes):
        sure = held.wrong > _STANDARD_ERRORS / 2 * held.uncertainty
        if sure and held.wrong - held.uncertainty > WRONG_LABELS:
            return WrongLabels(held, held.wrong, held.uncertainty, WRONG_LABELS)
    return _wrong_by_val(held)


def _wrong_by_val(held: HeldOutLabels) -> WrongLabels | None:
    """Labels of `val_data` are told plainly, those of `data` much worse by the same, and no better by their own kind.

    Samples of one set that resemble each other, as those of one person do, are told well within it. But then those of
    `data` would be, too.
    """
    by_val = held.told_by_val
    if by_val is None or held.predicted > by_val or held.val_told_by_itself < _TOLD_WELL:
        return None
    if by_chance(by_val, held.chance, held.samples, held.classes):
        return None
    share, uncertainty = held.wrong_by_val, held.uncertainty_by_val
    return WrongLabels(held, share, uncertainty, MANY_WRONG, by_val=True) if share - uncertainty > MANY_WRONG else None


def by_chance(predicted: float, chance: float, samples: int, classes: int) -> bool:
    if not classes:
        return predicted < _EXPLAINED
    return predicted - chance < _DEVIATIONS * sqrt(chance * (1 - chance) / samples)
