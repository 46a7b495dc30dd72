"""The course of a logged learning rate: 0 throughout, gone while the loss still fell, growing without end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from .. import wording
from ..records.history import History, Series
from ..records.symptoms import NO_RATE, NOT_LEARNING, PLATEAU
from ..records.verdict import Evidence
from .history_curve import Curve
from .history_fault import HistoryFault
from .history_limits import beyond_noise, has_gained
from .history_roles import Roles

#: Values. By judgement: one or two of 0 are the first steps of a warm-up.
_FEWEST = 3
#: Of its peak: below that a rate is gone. As in learning_rates.py: 2 %.
_GONE = 0.02
#: Of the run: a cosine or a line to 0 is below 2 % for its last tenth, two drops by 10 at a half and three quarters for
#: a quarter.
_FOR_LONG = 1 / 3
#: Of its peak: above it a rate is high, between it and `_GONE` it is on its way down. By judgement: half.
_HIGH_RATE = 0.5
#: How much the loss falls for each unit of rate, on its way down against while it was high. One that comes to its end
#: by itself falls less and less whatever the rate is; one that goes down as far as the rate takes it has 1 and more. By
#: judgement: and beyond what noise explains.
_AS_STEEP = 0.9
#: The same, of the second half of the time in which the rate was high against the first. By judgement: a loss that had
#: flattened before the rate fell, and then falls because it does, is what schedules are for.
_NOT_FLAT = 0.5
#: Of what was gained: what the loss may have fallen by after the rate was gone. By judgement.
_THEN = 0.1
#: Values of the loss. By judgement: six while the rate is high, six on its way down, and a third of the run behind.
_ENOUGH = 20
#: Of them, while the rate is high, and on its way down. By judgement: a median at each end.
_ENOUGH_EACH = 6
#: Of the first loss, and of a score: who is there has learnt what there was. By judgement.
_LOW, _HIGH = 0.1, 0.95
#: The last rate against the first, and against that of half way: a line doubles it in the second half, what grows by a
#: factor does more. By judgement: a schedule that is meant to grow has a top.
_GREW, _GREW_LATELY = 100.0, 3.0
#: The last rate against the first, for a warm-up that goes on. By judgement.
_WARMED = 3.0
#: Of the pairs of neighbours that rise. By judgement: all but a few that are rounded.
_RISES = 0.9
#: How far all steps together may have moved a weight at most, to have moved none. By judgement: weights are of size
#: 0.01 and more, and this is a thousandth of that.
_NO_WAY = 1e-5
#: Of the first loss: a run that ends above it has learnt next to nothing. By judgement: short runs of language models
#: come from 10 to 7 in their first epoch.
_HARDLY_LEARNT = 0.95
#: Of its peak, and of the run: a staircase that has come to its foot for good. By judgement: three drops by 10, which
#: recipes spread over the run; an exponential decay that is there so soon has let the loss flatten before.
_FOOT, _MOST_OF_IT = 0.001, 2 / 3
#: Of all that was gained: what the last entry at the full rate gained. By judgement: a quarter is no convergence.
_STILL_FALLING = 0.25
#: Entries that show two falls: 3. And a fall in terms of the one before, at most. By judgement: a loss that falls in a
#: straight line promises more than anybody should believe.
_THREE, _SLOWEST = 3, 0.8


@dataclass(frozen=True)
class RateCourse:
    kind: Literal["zero", "runaway", "warm-up", "constant", "other"]
    series: Series


def course(roles: Roles) -> RateCourse | None:
    """Of the group with the highest rate: parts that are frozen for a while have rates of 0."""
    rates = [each for each in roles.rates if len(each) >= _FEWEST]
    if not rates:
        return None
    series = max(rates, key=lambda each: max(each.values))
    values = series.values
    if not any(max(map(abs, each.values)) for each in rates):
        return RateCourse("zero", series)
    if max(values) == min(values):
        return RateCourse("constant", series)
    rising = sum(1 for a, b in pairwise(values) if b > a) / (len(values) - 1)
    first = next((value for value in values if value > 0), values[0])
    if rising > _RISES and values[-1] >= max(values):
        if values[-1] > _GREW * first and values[-1] > _GREW_LATELY * values[len(values) // 2]:
            return RateCourse("runaway", series)
        if values[-1] > _WARMED * first:
            return RateCourse("warm-up", series)
    return RateCourse("other", series)


def no_rate(history: History, roles: Roles) -> HistoryFault | None:
    """A rate of 0 from the first entry to the last. If the loss falls all the same, it was logged wrongly."""
    found = course(roles)
    if found is None or found.kind != "zero":
        return None
    if roles.loss is not None and has_gained(Curve(roles.loss)):
        return None
    name, count = found.series.name, len(found.series)
    return HistoryFault(
        "no rate", NO_RATE, "high",
        f"{name} is 0 in all of its {count} entries (expected above 0)",
        f"{name} is 0 for the whole run",
        0.0, 0.0,
        (Evidence(f"{name} is 0 from {found.series.when(0)} to {found.series.when(count - 1)}", 0.0,
                  history.place(found.series.lines[0])),),
        history.place(found.series.lines[0]),
    )  # fmt: skip


def tiny_rate(history: History, roles: Roles) -> HistoryFault | None:
    """All rates together could not have moved a weight, and the loss has not moved either.

    An adaptive optimizer moves a weight by about the rate in each step, plain descent by the rate times its gradient.
    """
    found, loss = course(roles), roles.loss
    if found is None or found.kind == "zero" or loss is None or len(loss) < _ENOUGH:
        return None
    rate, norm = found.series, roles.gradient_norm
    longest = max(norm.values, default=1.0) if norm is not None else 1.0
    far = _steps_taken(rate, 0, len(rate) - 1) * max(longest, 1.0)
    if rate.unit != "step" or far > _NO_WAY or has_gained(Curve(loss)):
        return None
    curve, top = Curve(loss), max(rate.values)
    return HistoryFault(
        "tiny rate", NOT_LEARNING, "high",
        f"{rate.name} is at most {wording.short(top)}: in all steps together no weight can have moved by more than "
        f"{wording.short(far)} (at least {_NO_WAY:g}), and {loss.name} goes {wording.change(curve.start, curve.end)}",
        f"{rate.name} is at most {wording.short(top)}, too low to move anything",
        far, _NO_WAY,
        (Evidence(f"{rate.name} is {wording.short(top)} at most, over {rate.steps[-1] - rate.steps[0]:,.10g} steps",
                  top, history.place(rate.lines[0])),
         Evidence(f"{loss.name} goes {wording.change(curve.start, curve.end)}, no more than its noise")),
        history.place(rate.lines[0]),
    )  # fmt: skip


def endless_warm_up(history: History, roles: Roles) -> HistoryFault | None:
    """A run that was to end here ends in the middle of its warm-up, with next to nothing learnt.

    Only where the log says that the run is over: else the warm-up may have its end still to come.
    """
    found, loss = course(roles), roles.loss
    if found is None or found.kind != "warm-up" or loss is None or len(loss) < _ENOUGH or not history.finished:
        return None
    curve, rate = Curve(loss), found.series
    if curve.start <= 0 or curve.end < _HARDLY_LEARNT * curve.start:
        return None
    last = wording.short(rate.values[-1])
    return HistoryFault(
        "endless warm-up", NOT_LEARNING, "medium",
        f"{rate.name} rises until the last step, {rate.when(len(rate) - 1)}, to {last}: the run ends in its warm-up, "
        f"and {loss.name} goes {wording.change(curve.start, curve.end)} (expected below "
        f"{wording.loss(_HARDLY_LEARNT * curve.start)})",
        f"{rate.name} rises to the last step: its warm-up has no end",
        curve.end, _HARDLY_LEARNT * curve.start,
        (Evidence(f"{rate.name} goes from {wording.short(rate.values[0])} to {last}, and never falls", rate.values[-1],
                  history.place(rate.lines[-1])),
         Evidence(f"{loss.name} goes {wording.change(curve.start, curve.end)} in the whole run")),
        history.place(rate.lines[-1]), rate.steps[-1],
    )  # fmt: skip


def rate_cut_early(history: History, roles: Roles) -> HistoryFault | None:
    """A staircase that is at its foot when the run has hardly begun, while the loss was still on its way down.

    A staircase makes a loss fall at each step, as it should; so here the rate has to be a thousandth of its peak for
    two thirds of the run, and the last entry at the full rate has to have gained a good part of all that was gained.
    """
    found, loss = course(roles), roles.loss
    if found is None or found.kind != "other" or loss is None or len(loss) < _ENOUGH or found.series.unit != loss.unit:
        return None
    rate, curve = found.series, Curve(loss)
    peak = max(rate.values)
    at = _gone_from(rate, _FOOT, _MOST_OF_IT)
    if at is None or _has_learnt(roles, curve):
        return None
    top = max(index for index, value in enumerate(rate.values[:at]) if value >= _HIGH_RATE * peak)
    last, before = (curve.index_at(rate.steps[index]) for index in (top, max(top - 1, 0)))
    if last == before or rate.values[max(top - 1, 0)] < _HIGH_RATE * peak:
        return None
    fell, gained = curve.values[before] - curve.values[last], curve.values[0] - curve.best
    after = curve.level_at(curve.index_at(rate.steps[at])) - curve.end
    to_come = max(fell, _to_come(curve, rate, top))
    still_falling = to_come > max(_STILL_FALLING * gained, beyond_noise(curve))
    if not still_falling or after > max(_THEN * gained, curve.noise):
        return None
    when, place = rate.when(at), history.place(rate.lines[at])
    return HistoryFault(
        "rate gone", PLATEAU, "medium",
        f"{rate.name} is below {wording.share(_FOOT)} of its peak from {when} of {rate.steps[-1]:,.10g} on, and "
        f"{loss.name} stays at {wording.loss(curve.end)}: it fell by {wording.loss(fell)} from {loss.when(before)} to "
        f"{loss.when(last)}, at the full rate, and by {wording.loss(max(after, 0.0))} since (expected more)",
        f"{rate.name} is almost 0 from {when} on, and {loss.name} stops falling there",
        max(after, 0.0), fell,
        (Evidence(f"{rate.name} is {wording.short(peak)} at its peak, below {wording.share(_FOOT)} of that from {when} "
                  f"on, and {wording.short(rate.values[-1])} at the end", rate.values[at], place),
         Evidence(f"the last entry at the full rate gained {wording.loss(fell)} of {wording.loss(gained)}, all that "
                  f"came after the cut {wording.loss(max(after, 0.0))}", fell)),
        place, rate.steps[at],
    )  # fmt: skip


def rate_gone(history: History, roles: Roles) -> HistoryFault | None:
    """The rate falls to nothing with a third of the run or more to go, and at that moment the loss stops falling."""
    found = course(roles)
    if found is None or found.kind != "other" or roles.loss is None or len(roles.loss) < _ENOUGH:
        return None
    rate, loss = found.series, Curve(roles.loss)
    at = _gone_from(rate)
    if at is None or rate.unit != loss.series.unit or _has_learnt(roles, loss):
        return None
    steepness = _steepness(rate, loss, at)
    corner = loss.index_at(rate.steps[at])
    after = median(loss.values[max(corner - 1, 0) : corner + 2]) - loss.end
    if steepness is None or after > max(_THEN * loss.gain, loss.noise):
        return None
    peak, when = max(rate.values), rate.when(at)
    place = history.place(rate.lines[at])
    return HistoryFault(
        "rate gone", PLATEAU, "medium",
        f"{loss.series.name} stops at {wording.loss(loss.end)} when {rate.name} falls below {wording.share(_GONE)} of "
        f"its peak, at {when} of {rate.steps[-1]:,.10g}: until then it fell as fast as the rate let it (a loss "
        "that ends by itself falls more slowly)",
        f"{rate.name} is almost 0 from {when} on, and {loss.series.name} stops falling there",
        steepness, _AS_STEEP,
        (Evidence(f"{rate.name} is {wording.short(peak)} at its peak, below {wording.share(_GONE)} of that from {when} "
                  f"on, and {wording.short(rate.values[-1])} at the end", rate.values[at], place),
         Evidence(f"for each unit of rate {loss.series.name} fell {wording.share(steepness)} as much on the way down "
                  f"as while the rate was high, and by {wording.loss(max(after, 0.0))} after that", steepness)),
        place, rate.steps[at],
    )  # fmt: skip


def _steepness(rate: Series, loss: Curve, gone: int) -> float | None:
    """The fall of the loss for each unit of rate, on the way down against while it was high; None if unsure.

    As long as the loss falls because steps are taken, it falls with their sum; once there is nothing left to learn, it
    does not, however large the steps are.
    """
    peak = max(rate.values)
    top = max(index for index, value in enumerate(rate.values[:gone]) if value >= _HIGH_RATE * peak)
    first = next(index for index, value in enumerate(rate.values) if value >= _HIGH_RATE * peak)
    half = (first + top) // 2
    marks = [loss.index_at(rate.steps[index]) for index in (first, half, top, gone)]
    if marks[2] - marks[0] < _ENOUGH_EACH or marks[3] - marks[2] < _ENOUGH_EACH:
        return None
    if len(set(rate.values[first : gone + 1])) < _ENOUGH_EACH:
        return None  # it falls in steps, and each of them makes the loss fall, as it should
    near = max(1, len(loss) // 40)
    levels = [median(loss.values[max(mark - near, 0) : mark + near + 1]) for mark in marks]
    taken = [_steps_taken(rate, a, b) for a, b in pairwise((first, half, top, gone))]
    falls = [a - b for a, b in pairwise(levels)]
    if min(taken) <= 0 or levels[0] - levels[2] < beyond_noise(loss) or falls[2] < beyond_noise(loss):
        return None
    if falls[1] * taken[0] < _NOT_FLAT * falls[0] * taken[1]:
        return None
    usual = (falls[0] + falls[1] + beyond_noise(loss)) / (taken[0] + taken[1])
    if falls[2] < _AS_STEEP * usual * taken[2] + beyond_noise(loss):
        return None
    return (falls[2] / taken[2]) / ((falls[0] + falls[1]) / (taken[0] + taken[1]))


def _steps_taken(rate: Series, first: int, last: int) -> float:
    """The sum of the rate over the steps between two entries."""
    pairs = pairwise(range(first, last + 1))
    return sum((rate.values[a] + rate.values[b]) / 2 * (rate.steps[b] - rate.steps[a]) for a, b in pairs)


def _to_come(loss: Curve, rate: Series, top: int) -> float:
    """What the last entries at the full rate promise: each fall a constant part of the one before, as they are."""
    marks = [loss.index_at(rate.steps[index]) for index in range(max(top - 2, 0), top + 1)]
    if len(set(marks)) < _THREE or rate.values[top - 2] < _HIGH_RATE * max(rate.values):
        return 0.0
    first, second = (loss.values[a] - loss.values[b] for a, b in pairwise(marks))
    if min(first, second) <= 2 * loss.noise:
        return 0.0
    part = min(second / first, _SLOWEST)
    return second * part / (1 - part)


def _gone_from(rate: Series, share: float = _GONE, rest: float = _FOR_LONG) -> int | None:
    """The index from which on it is gone for good, if a third of the run is still to come."""
    peak = max(rate.values)
    at = len(rate)
    while at > 0 and rate.values[at - 1] < share * peak:
        at -= 1
    if at >= len(rate) or at == 0:
        return None
    whole = rate.steps[-1] - rate.steps[0]
    return at if whole > 0 and rate.steps[-1] - rate.steps[at] >= rest * whole else None


def _has_learnt(roles: Roles, loss: Curve) -> bool:
    if loss.start > 0 and loss.end < _LOW * loss.start:
        return True
    score = roles.score
    if score is None or not len(score):
        return False
    end = median(score.values[-3:]) * (0.01 if max(score.values) > 1 else 1.0)
    return end > _HIGH
