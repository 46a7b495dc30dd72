"""Steps that take several times as long from one entry on, to the end of the run.

A machine that is shared, a checkpoint that is written, a longer validation: times go up and down, and a run that was
resumed may go on elsewhere. So the time before and the time after both have to be steady, the jump has to come from one
entry to the next, and nothing else in the log may change with it: where larger images, longer texts or more layers
come in, the loss bends at the same place, or a column says so.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from .. import wording
from ..records.history import History, Series
from ..records.symptoms import PERFORMANCE
from ..records.verdict import Evidence
from .history_curve import Curve
from .history_fault import HistoryFault
from .history_limits import beyond_noise
from .history_roles import Roles

#: Times as long. By judgement: the next slower machine, or a neighbour on it, makes 1.5 to 2.
_SLOWER = 3.0
#: The median distance from the median, of the time before and after. By judgement: times of epochs vary by 2 to 5 %.
_STEADY = 0.1
#: Entries before and after. By judgement: as many as a shape needs.
_ENOUGH = 10
#: Of the run, after the jump. By judgement: a quarter; less may have been a bad hour.
_FOR_LONG = 0.25
#: Words of columns that say that steps have become larger.
_WORK = ("size", "length", "len", "resolution", "tokens", "layers", "depth", "unfrozen", "frozen", "stage", "phase")


def slower(history: History, roles: Roles) -> HistoryFault | None:
    seconds = roles.seconds
    if seconds is None or len(seconds) < 2 * _ENOUGH:
        return None
    at = _jump(seconds)
    if at is None or _is_explained(history, roles, seconds, at):
        return None
    before, after = median(seconds.values[:at]), median(seconds.values[at:])
    since = seconds.when(at)
    return HistoryFault(
        "slower", PERFORMANCE, "medium",
        f"{seconds.name} goes from {wording.short(before)} s to {wording.short(after)} s at {since} and stays there: "
        f"{wording.short(after / before)} times as long (at most {_SLOWER:g})",
        f"steps take {wording.short(after / before)} times as long from {since} on",
        after / before, _SLOWER,
        (Evidence(f"{seconds.name} is {wording.short(before)} s before {since} and {wording.short(after)} s from then "
                  f"on, with hardly any variation in both", after, history.place(seconds.lines[at])),
         Evidence("nothing else in the log changes at that point")),
        history.place(seconds.lines[at]), seconds.steps[at],
    )  # fmt: skip


def _jump(seconds: Series) -> int | None:
    """The index of the first value of the slow part, if there are two steady parts and nothing in between."""
    values = seconds.values
    at = max(range(1, len(values)), key=lambda index: values[index] - values[index - 1])
    if at < _ENOUGH or len(values) - at < max(_ENOUGH, _FOR_LONG * len(values)):
        return None
    levels = [median(part) for part in (values[:at], values[at:])]
    scatter = [median(abs(v - m) for v in part) for part, m in zip((values[:at], values[at:]), levels, strict=True)]
    steady = all(level > 0 and each <= _STEADY * level for each, level in zip(scatter, levels, strict=True))
    return at if steady and levels[1] >= _SLOWER * levels[0] else None


def _is_explained(history: History, roles: Roles, seconds: Series, at: int) -> bool:
    step = seconds.steps[at]
    if any(each.resumed or each.began_anew for each in history.series.values()):
        return True
    for name, each in history.series.items():
        if any(word in name.lower() for word in _WORK) and len(set(each.values)) > 1:
            return True
    losses = [each for each in (roles.loss, roles.val_loss) if each is not None and each.unit == seconds.unit]
    return not losses or any(_bends(Curve(each), step) for each in losses)


def _bends(curve: Curve, step: float) -> bool:
    """The jump of a loss at this point is larger than those around it."""
    at = curve.index_at(step)
    if not 0 < at < len(curve):
        return False
    around = [b - a for a, b in pairwise(curve.values[max(at - _ENOUGH, 0) : at + _ENOUGH])]
    usual = median(around) if around else 0.0
    return abs(curve.values[at] - curve.values[at - 1] - usual) > beyond_noise(curve)
