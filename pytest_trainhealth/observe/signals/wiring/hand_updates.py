"""Updates by hand, or by an optimizer that is none of torch's: how many, whether they use gradients again, and whether
they go along them instead of against them.

A gradient that is still there after its parameter has moved, unchanged, when the next backward pass begins, becomes
part of the next one. (Passes that are accumulated do not move anything in between; a momentum that is kept in `.grad`
changes it.) If there are optimizers of torch's besides, then what is moved must have gone against its gradient: an
averaged copy moves too, and gradients that nobody uses may pile up on it.
"""

from __future__ import annotations

from ....records.wiring import BY_HAND
from ...run.moves_between_passes import MovesBetweenPasses
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Updates that are examined, each at the cost of a copy of what they move. By judgement: 8, of which two are enough to
#: conclude (analysis/wiring.py).
_UPDATES = 8
#: Passes without one, beside an optimizer of torch's: then what it does not hold is not moved by hand either. By
#: judgement: what is updated besides is updated as often.
_PASSES = 8


class HandUpdates(Signal):
    NAME, COST = "hand_updates", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run, self._moves = run, MovesBetweenPasses(run)
        #: The gradients hold those that an update has used.
        self._stale = False
        self._follows = True
        self._passes = 0

    @property
    def _done(self) -> bool:
        updates = self._run.trace.wiring.hand_updates
        return updates >= _UPDATES or (not updates and self._passes >= _PASSES and bool(self._run.optimizers))

    def backward_begins(self, roots: object) -> None:
        wiring = self._run.trace.wiring
        if self._done:
            return
        moved = self._moves.since_then()
        if not moved:
            self._stale = self._stale and not self._moves.cleared()
            return
        wiring.hand_updates += 1
        wiring.hand_update_passes.append(self._passes)
        wiring.hand_climbs += self._moves.climb_gradients(list(moved))
        if self._run.optimizers and not self._stale:
            # the first update is plain: later ones follow sums
            self._follows = self._moves.follow_gradients(list(moved))
        if self._stale and self._follows:
            wiring.stale_gradients.setdefault(BY_HAND, []).append(self._run.step - 1)
        self._stale = all(moved.values())

    def backward_ends(self) -> None:
        self._passes += 1
        if not self._done:
            self._run.trace.wiring.hand_passes = self._passes
        if self._done:
            self._moves.forget()
        else:
            self._moves.pass_ended()
