"""Overfitting as a log shows it: validation gets worse while training gets better.

Not the gap between the two, though KNOWLEDGE.md has limits for it (0.5 of the loss, 20 points of accuracy). Dropout,
augmentation, label smoothing and class weights make a training loss another quantity than the validation loss, and a
classifier that is right 99.9 % of the time on its own data and 76 % on others may be as good as anybody's. A gap is
worth a note. What overfits is a run whose validation had been better.
"""

from __future__ import annotations

from .. import wording
from ..records.history import History
from ..records.symptoms import OVERFITTING
from ..records.verdict import Evidence
from .history_curve import Curve
from .history_fault import HistoryFault
from .history_limits import ENOUGH_FOR_A_PASS, GIVEN_BACK, NEARLY_NOTHING, beyond_noise, has_gained
from .history_roles import Roles

#: Values of the validation, at least. By judgement: two that fall and three that rise.
_ENOUGH = 5
#: Of its best. What was gained before the first entry is not in the log: one real run, logged after each epoch, goes
#: 0.37 to 0.43 while training falls from 0.34 to 0.26, which is most of what its log shows, and no harm (0.15). Runs
#: that have overfitted are at 0.86 and more.
_OF_ITS_BEST = 0.4
#: Of a score between 0 and 1, or in percent: what counts as lost. By judgement: seeds differ by half a point to one.
_LOST_POINTS = 0.02
#: Whatever the score does: so much of what was gained is lost, and of its best, that by its loss the model is where it
#: began. Runs that only get more certain of their mistakes are at 0.6 of what was gained; three that were written as
#: overfitted, with an accuracy that stays, at 0.92 and more. By judgement in between; of its best they are at 0.97.
_NEARLY_ALL, _OF_ITS_BEST_THEN = 0.85, 0.9
#: Unless the score has risen by as much since the loss was best. By judgement: more than seeds differ.
_RISEN_SINCE = 0.03
#: Where scores are all there is: so much has to be lost. By judgement: a small validation set moves by some points.
_LOST_CLEARLY = 0.1
#: Of the gain of training: so much of its own has validation to have gained to be measured by it. By judgement.
_OWN_SCALE = 0.1


def overfitting(history: History, roles: Roles) -> HistoryFault | None:
    if roles.loss is not None and roles.val_loss is not None:
        return _by_loss(history, roles, Curve(roles.loss), Curve(roles.val_loss))
    if roles.score is not None and roles.val_score is not None:
        return _by_score(history, Curve(roles.score, -1), Curve(roles.val_score, -1))
    return None


def risen_share(training: Curve, validation: Curve) -> float:
    """Of what was gained, how much validation has given back while training kept its own; 0 where that is not so."""
    if len(validation) < _ENOUGH or len(training) < ENOUGH_FOR_A_PASS or not has_gained(training):
        return 0.0
    kept = training.given_back <= max(NEARLY_NOTHING * training.gain, beyond_noise(training))
    if not kept or validation.given_back <= beyond_noise(validation):
        return 0.0
    own = validation.gain > max(_OWN_SCALE * training.gain, beyond_noise(validation))
    return validation.given_back / (validation.fall if own else training.fall)


def lost_points(score: Curve) -> float:
    """How far it ends below its best; of a score in percent, a hundredth of that."""
    return score.given_back * (0.01 if max(map(abs, score.values)) > 1 else 1.0)


def _by_loss(history: History, roles: Roles, training: Curve, validation: Curve) -> HistoryFault | None:
    share = risen_share(training, validation)
    if share <= GIVEN_BACK or validation.given_back < _OF_ITS_BEST * abs(validation.best):
        return None
    score = None if roles.val_score is None else Curve(roles.val_score, -1)
    judged_by_score = score is not None and len(score) >= ENOUGH_FOR_A_PASS and has_gained(score)
    nearly_all = share >= _NEARLY_ALL and validation.given_back >= _OF_ITS_BEST_THEN * abs(validation.best)
    if judged_by_score and score is not None and lost_points(score) < _LOST_POINTS and not nearly_all:
        return None
    if judged_by_score and score is not None and _risen_since(score, validation) >= _RISEN_SINCE:
        return None
    best = validation.series.when(validation.best_at)
    name, own = validation.series.name, training.series.name
    place = history.place(validation.series.lines[validation.best_at])
    evidence = [
        Evidence(f"{name} is lowest around {best} ({wording.loss(validation.best)}) and ends at "
                 f"{wording.loss(validation.end)}", validation.end, place),
        Evidence(f"{own} falls on from {wording.loss(_level_at_best(training, validation))} to "
                 f"{wording.loss(training.end)}", training.end),
    ]  # fmt: skip
    if judged_by_score and score is not None and roles.val_score is not None:
        worst, top = wording.short(-score.end), wording.short(-score.best)
        lost = lost_points(score) >= _LOST_POINTS
        course = f"falls from {top} to {worst}" if lost else f"stays at {worst}: it gets more certain of its mistakes"
        evidence.append(Evidence(f"{roles.val_score.name} {course}", -score.end))
    return HistoryFault(
        "overfitting", OVERFITTING, "medium",
        f"{name} rises from {wording.loss(validation.best)} to {wording.loss(validation.end)} while {own} falls to "
        f"{wording.loss(training.end)}: {wording.share(share)} of what was gained is lost (at most "
        f"{wording.share(GIVEN_BACK)})",
        f"{name} rises from {best} on while {own} falls",
        share, GIVEN_BACK, tuple(evidence), place, validation.series.steps[validation.best_at],
    )  # fmt: skip


def _risen_since(score: Curve, validation: Curve) -> float:
    """What a score has gained since the validation loss was best, as points between 0 and 1."""
    at = score.index_at(validation.series.steps[validation.best_at])
    gained = score.level_at(at) - score.end
    return gained * (0.01 if max(map(abs, score.values)) > 1 else 1.0)


def _by_score(history: History, training: Curve, validation: Curve) -> HistoryFault | None:
    enough = len(validation) >= _ENOUGH and len(training) >= ENOUGH_FOR_A_PASS and has_gained(training)
    if not enough:
        return None
    kept = training.given_back <= max(NEARLY_NOTHING * training.gain, beyond_noise(training))
    lost = lost_points(validation)
    if not kept or lost < _LOST_CLEARLY or validation.given_back <= beyond_noise(validation):
        return None
    best, name = validation.series.when(validation.best_at), validation.series.name
    place = history.place(validation.series.lines[validation.best_at])
    top, end = wording.short(-validation.best), wording.short(-validation.end)
    return HistoryFault(
        "overfitting", OVERFITTING, "medium",
        f"{name} falls from {top} to {end} while {training.series.name} rises to {wording.short(-training.end)} (may "
        f"fall by {wording.short(_LOST_CLEARLY * 100)} points)",
        f"{name} falls from {best} on while {training.series.name} rises",
        lost, _LOST_CLEARLY,
        (Evidence(f"{name} is highest around {best} ({top}) and ends at {end}", -validation.end, place),
         Evidence(f"{training.series.name} ends at {wording.short(-training.end)}", -training.end)),
        place, validation.series.steps[validation.best_at],
    )  # fmt: skip


def _level_at_best(training: Curve, validation: Curve) -> float:
    """The level of training where validation was best."""
    if training.series.unit != validation.series.unit:
        share = validation.best_at / max(len(validation) - 1, 1)
        return training.level_at(round(share * (len(training) - 1)))
    return training.level_at(training.index_at(validation.series.steps[validation.best_at]))
