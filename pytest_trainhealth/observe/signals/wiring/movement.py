"""Only whether parameters move: once all that are to learn have moved, nothing is left to see."""

from __future__ import annotations

from ...run.signal import Cost
from .parameters import Parameters

#: At which moves are looked for in any case: those of gradients_flow, 4.
_STEPS = 4


class Movement(Parameters):
    NAME, COST = "movement", Cost.BRIEF

    def step_begins(self, batch: object) -> None:
        if self._run.step < _STEPS or not all(p.moved for p in self._run.trace.trainable):
            super().step_begins(batch)
