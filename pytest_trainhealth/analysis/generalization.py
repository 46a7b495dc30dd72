"""What a short fit shows about samples that it did not learn from.

A gap is no fault: whoever learns does better on what it has seen. And a loss of classes rises when a model only becomes
more certain of its mistakes. What is a fault is a training that had learnt something for others, and then unlearns it:
its validation ends worse than the same guess for every sample, though it had been better than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, median, stdev

from ..records.held_out import HeldOutPoint, HeldOutRecord, ScaleShift, Scored, ShiftedTargets
from ..records.trace import Trace

#: Evaluations, at least. By judgement: one at the start, one at the best, and two later on.
FEWEST = 4
#: Of the loss of a guess: what is less below is as good as it. By judgement: as in learns_from_data, 0.05.
_CLEARLY = 0.05
#: The same above it: so much worse than a guess is harm. By judgement: 0.25, as a loss of classes varies by a tenth.
_WELL_ABOVE = 0.25
#: Standard errors of the mean over the parts of the validation data. By judgement: 2 leave 2 % on each side.
_ERRORS = 2.0
#: Of what training has gained by then: so much further has it to fall while validation rises. By judgement: 0.1 is more
#: than evaluations on the same samples vary by.
_FELL_ON = 0.1
#: Of what validation had gained on a guess: so much less is a turn. By judgement: 0.1, as for what training gains.
_TURNED = 0.1
#: Of accuracy. By judgement, not measured: 5 points.
_LOST_POINTS = 0.05
#: Times the loss of a guess, where validation is right more often than one: so sure of its mistakes is harm. In 8 runs
#: each of 22 healthy trainings (tests/checks/healthy_fits.py) whose gap is above 20 points: at most 2.5,
#: or 2.9 with random labels, which never carried over. Chosen after these were seen.
_FAR_ABOVE = 3.0
#: Between training and validation, in accuracy: KNOWLEDGE.md calls more than 20 points severe.
SEVERE = 0.2
#: Of the loss of a guess, between training and validation: whether colours are read backwards is worth a run. By
#: judgement: a quarter, as that is what the run has to gain.
_WIDE = 0.25
#: Times: inputs whose spread differs by more were not prepared in the same way. By judgement, not measured: 3.
_OTHER_SPREAD = 3.0
#: Of a spread, between the means. By judgement, not measured: 2.
_OTHER_MEAN = 2.0
#: Of what there is to tell beyond the most frequent class, with the targets of the positions beside: by judgement: half
#: of it, as in observe's alignment; and positions: of 200 a share is known within 4 % (one deviation).
_PLAINLY, _POSITIONS = 0.5, 200
#: Instead of a spread of 0: below any that matters, 1e-6.
_NO_ZERO = 1e-6


@dataclass(frozen=True)
class Fit:
    """The course of a validation, with what it is measured by."""

    held: HeldOutRecord
    #: The loss of a guess; where that is not known, the first one.
    by_guessing: float
    #: The evaluation with the lowest loss, chosen by one half of the parts, and its loss by the other half.
    best: HeldOutPoint
    best_loss: float
    #: There are two halves; where there is only one part, the best is measured by what has chosen it.
    halves: bool = True

    @property
    def end(self) -> HeldOutPoint:
        return self.held.points[-1]

    @property
    def carries_over(self) -> bool:
        """At the end, validation is better than a guess, by its loss or by its accuracy."""
        return self._is_better(self.end.val, self.end.val.loss)

    @property
    def better_than_a_guess(self) -> bool:
        """At the end, by its loss: whoever is far off its scale may be right by its accuracy, and sure of nonsense."""
        return self._is_lower(self.end.val, self.end.val.loss)

    @property
    def had_carried_over(self) -> bool:
        return self._is_better(self.best.val, self.best_loss)

    @property
    def had_been_better(self) -> bool:
        """The same by its loss alone."""
        return self._is_lower(self.best.val, self.best_loss)

    def _is_lower(self, scored: Scored, loss: float) -> bool:
        return loss < self.by_guessing - max(_CLEARLY * abs(self.by_guessing), _ERRORS * _error(scored))

    def _is_better(self, scored: Scored, loss: float) -> bool:
        if self._is_lower(scored, loss):
            return True
        usual = self.held.most_frequent
        if scored.accuracy is None or usual is None:
            return False
        return scored.accuracy - usual > max(_CLEARLY, _ERRORS * sqrt(usual * (1 - usual) / max(scored.scored, 1)))

    @property
    def unlearns(self) -> bool:
        """It had carried over, and ends far worse than a guess."""
        harm = max(_WELL_ABOVE * abs(self.by_guessing), _ERRORS * _error(self.end.val))
        return self.had_carried_over and self.end.val.loss > self.by_guessing + harm

    @property
    def lost_points(self) -> float | None:
        """Of accuracy, beyond what so many samples vary by; None where there is none."""
        best, end = self.best.val.accuracy, self.end.val.accuracy
        if best is None or end is None:
            return None
        chance = sqrt(max(best * (1 - best), 0.0) / max(self.end.val.scored, 1))
        return best - end if best - end > max(_LOST_POINTS, _ERRORS * chance) else 0.0

    @property
    def gap(self) -> float | None:
        """In loss."""
        return None if self.end.train is None else self.end.val.loss - self.end.train.loss

    @property
    def gap_in_accuracy(self) -> float | None:
        train, val = self.end.train, self.end.val
        if train is None or train.accuracy is None or val.accuracy is None:
            return None
        return train.accuracy - val.accuracy


def fit_of(trace: Trace) -> Fit | None:
    """None where too little was seen."""
    held = trace.state.held_out
    if held is None or held.why_not or len(held.points) < FEWEST:
        return None
    by_guessing = held.chance if held.chance is not None else held.points[0].val.loss
    halves = all(len(point.val.parts) >= 2 for point in held.points)
    best = min(held.points, key=lambda point: fmean(point.val.parts[::2]) if halves else point.val.loss)
    return Fit(held, by_guessing, best, fmean(best.val.parts[1::2]) if halves else best.val.loss, halves)


def more_told(before: Fit, fit: Fit, least: float) -> bool:
    """Of all classes of `val_data`, at a lower loss, so much more and beyond what so many samples vary by."""
    was, now = before.end.val.accuracy, fit.end.val.accuracy
    if was is None or now is None or fit.end.val.loss >= before.end.val.loss:
        return False
    chance = sqrt((was * (1 - was) + now * (1 - now)) / max(fit.end.val.scored, 1))
    return now - was > max(least, _ERRORS * chance)


def no_worse_any_more(before: Fit, fit: Fit) -> bool:
    """It had ended far worse than a guess, and now ends as good as one or better, with as many answers right."""
    was, now, usual = before.end.val, fit.end.val, before.by_guessing
    harmed = was.loss > usual + max(_WELL_ABOVE * abs(usual), uncertainty(was))
    right = was.accuracy is not None and now.accuracy is not None and now.accuracy >= was.accuracy
    return harmed and right and now.loss <= usual


def has_learnt(trace: Trace, fit: Fit) -> bool:
    """Its own samples: else there is nothing that could carry over."""
    start, end = training_losses(trace, [fit.held.points[0], fit.end])
    by_guessing = start if fit.held.chance is None or fit.end.train is None else min(start, fit.held.chance)
    return end < by_guessing - _CLEARLY * abs(by_guessing)


def falls_on(trace: Trace, fit: Fit) -> bool:
    """Training gets better while validation gets worse."""
    start, then, end = training_losses(trace, [fit.held.points[0], fit.best, fit.end])
    return then - end > _FELL_ON * abs(start - end) > 0


def settled(trace: Trace, fit: Fit) -> bool:
    """Validation is plainly better than a guess, and training had next to nothing left to gain when it was at its best.

    So whatever comes, `falls_on` can no longer be true of it.
    """
    if fit.end.train is None or fit.end.val.loss > fit.by_guessing - _WELL_ABOVE * abs(fit.by_guessing):
        return False
    start, then, end = training_losses(trace, [fit.held.points[0], fit.best, fit.end])
    return end >= 0 and then <= _FELL_ON * start


def no_turn(fit: Fit) -> bool:
    """Validation is plainly better than a guess, and as good as at its best."""
    gained = fit.by_guessing - fit.best_loss
    plainly = fit.end.val.loss <= fit.by_guessing - _WELL_ABOVE * abs(fit.by_guessing)
    return plainly and fit.end.val.loss - fit.best_loss <= _TURNED * gained


def training_losses(trace: Trace, points: Sequence[HeldOutPoint]) -> list[float]:
    """In eval mode where that was possible; else the steps' own, of the last ten before."""
    return [
        point.train.loss if point.train is not None else median(trace.losses[max(0, point.steps - 10) : point.steps])
        for point in points
    ]


def overfits(trace: Trace, fit: Fit) -> bool:
    """Validation gets worse than a guess while training gets better, in loss and, where there is one, in accuracy.

    A model that is sure of its mistakes has a loss above a guess and may still be right more often than one. That is
    harm only where it is far above, and the gap to what was learnt by heart is wide.
    """
    lost = fit.lost_points
    no_better = lost is None or (lost > 0 and not fit.carries_over)
    far_above = is_severe(fit) and fit.end.val.loss > _FAR_ABOVE * fit.by_guessing > 0
    return fit.unlearns and falls_on(trace, fit) and (no_better or far_above)


def is_severe(fit: Fit) -> bool:
    return fit.gap_in_accuracy is not None and fit.gap_in_accuracy > SEVERE


def prepared_otherwise(shift: ScaleShift | None) -> bool:
    """Whether what the model is given from val_data has another scale than what it learns from."""
    if shift is None:
        return False
    small, large = sorted((max(shift.std, _NO_ZERO), max(shift.val_std, _NO_ZERO)))
    apart = abs(shift.val_mean - shift.mean) / max(shift.std, _NO_ZERO)
    return large / small > _OTHER_SPREAD or apart > _OTHER_MEAN


def in_another_order(fit: Fit) -> bool:
    """Whether a run with the features of `val_data` in another order is worth its time."""
    found = fit.held.other_order
    if found is None or found.known_again:
        return found is not None
    return not fit.better_than_a_guess or (fit.gap is not None and fit.gap > _WIDE * abs(fit.by_guessing))


def at_other_positions(fit: Fit) -> ShiftedTargets | None:
    """What the model answers for `val_data` fits the targets of the positions beside them, and not their own."""
    found, usual = fit.held.shifted, fit.held.most_frequent
    if found is None or usual is None or found.positions < _POSITIONS or fit.carries_over:
        return None
    plainly = found.right_shifted - usual > _PLAINLY * (1 - usual)
    return found if plainly and found.right - usual < _PLAINLY * (found.right_shifted - usual) else None


def _error(scored: Scored) -> float:
    return stdev(scored.parts) / sqrt(len(scored.parts)) if len(scored.parts) > 1 else 0.0


def uncertainty(scored: Scored) -> float:
    return _ERRORS * _error(scored)
