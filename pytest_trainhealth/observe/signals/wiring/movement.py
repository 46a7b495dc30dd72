"""Only whether parameters move: it stops once all trainable ones have moved."""

from __future__ import annotations

from ...run.signal import Cost
from .parameters import Parameters

#: Steps that are always examined: the 4 steps of gradients_flow.
_STEPS = 4


class Movement(Parameters):
    NAME, COST = "movement", Cost.BRIEF

    def step_begins(self, batch: object) -> None:
        if self._run.step < _STEPS or not all(p.moved for p in self._run.trace.trainable):
            super().step_begins(batch)
