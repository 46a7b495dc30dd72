"""Adversaries, whose losses need not fall together: does each one's own loss fall while the others hold still?

What a GAN's losses do in the course of its game says little. But a player that cannot lower its own loss against
opponents that do not move cannot learn at all, and one that can has working gradients, rate and loss. So each gets a
run for itself, and a training all of whose players win alone has shown what can be shown of a game.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from math import isfinite, sqrt

from .. import wording
from ..records.intervention import Cure
from ..records.judgement import CouldNotJudge, NeedsControl, Passed
from ..records.trace import Trace
from . import wiring

#: By judgement: more than four optimizers with losses of their own are not opponents, but layers.
_MOST_PLAYERS = 4
#: Turns before a player is judged. By judgement: its last quarter then has eight.
_FEWEST_TURNS = 32
#: Of all pairs of a turn of the first quarter and one of the last, those in which the last is lower are a half if
#: nothing is learnt. So many standard deviations above they show a fall, also if one looks again and again: of 2,000
#: curves of noise 17 passed at any of 22 looks (tests/analysis/test_players.py).
_DEVIATIONS = 3.5
#: The half that is meant there: by judgement, no more than the word for it.
_BY_CHANCE = 0.5
#: The first turns, for a loss that falls at once and stays: all but a tenth of the last quarter has to lie below each
#: of these five. (With three of them 111 of the 2,000 curves passed.)
_FIRST = 5
#: By judgement: a tenth of the turns may be odd.
_BUT_A_TENTH = 0.9


def judged_alone(
    trace: Trace, controls: Mapping[str, Trace], known: Mapping[str, float | None]
) -> Passed | CouldNotJudge | NeedsControl:
    cures = _runs_alone(trace)
    need_not = CouldNotJudge(wiring.why_it_need_not_fall(trace), known)
    if trace.cut_short:
        return CouldNotJudge(trace.cut_short, known)
    for cure in cures:
        control = controls.get(cure.label)
        if control is None:
            return NeedsControl(cure, may_stop=True)
        if not wins_alone(control):
            return need_not
    if not cures:
        return need_not
    count = wording.plural(len(cures), "player")
    return Passed((f"each of the {count} lowers its own loss while the others hold still",), known)


def wins_alone(control: Trace) -> bool:
    """The losses of its last turns lie below those of its first ones, by ranks: a critic's have no scale."""
    losses = control.applied.player_losses
    if control.crash is not None or len(losses) < _FEWEST_TURNS or not all(map(isfinite, losses)):
        return False
    quarter = len(losses) // 4
    first, last = losses[:quarter], sorted(losses[-quarter:])
    lower = sum(bisect_left(last, loss) for loss in first) / quarter**2
    deviation = sqrt((2 * quarter + 1) / 12) / quarter
    at_once = last[int(_BUT_A_TENTH * (quarter - 1))] < min(losses[:_FIRST])
    return at_once or lower >= _BY_CHANCE + _DEVIATIONS * deviation


def _runs_alone(trace: Trace) -> list[Cure]:
    active = [name for name, optimizer in trace.wiring.optimizers.items() if optimizer.steps]
    if trace.wiring.reversed_gradients or not 1 < len(active) <= _MOST_PLAYERS:
        return []
    return [Cure("one_player", f"only {name} learns", {"player": name}) for name in active]
