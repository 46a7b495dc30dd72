"""Gradient norms, until every trainable parameter has received a gradient that has not vanished."""

from __future__ import annotations

from ....records.wiring import vanished_first
from ...run.signal import Cost
from .gradients import Gradients

#: Steps that are always measured in full: the 4 steps of gradients_flow.
_FEW = 4


class FirstGradients(Gradients):
    NAME, COST = "first_gradients", Cost.BRIEF

    def looks_on(self) -> bool:
        sampled = super().looks_on()
        if not sampled or self._run.step <= _FEW:
            return sampled
        return bool(self._awaited) or bool(vanished_first([p for p in self._run.trace.trainable if p.is_weight]))
