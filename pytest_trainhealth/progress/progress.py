"""Keeps track of how far a check has come, and tells whoever shows it, not more often than they want to know.

A step pays one comparison of two numbers for it: the run's own list of losses says how many steps were taken, and is
looked at only when it is time to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from .standing import Standing


class Show(Protocol):
    """Something that shows where a check stands: a line of a terminal, a log, a cell of a notebook."""

    #: Seconds after which a check is long enough to be shown, and between two times that it is.
    after: float
    every: float

    def tell(self, standing: Standing) -> None: ...

    def over(self) -> None:
        """The check has come to its end, however: nothing is to be seen of it any more."""


class Progress:
    def __init__(self, show: Show, check: str, training: str, now: float) -> None:
        self._show, self._check, self._training = show, check, training
        self._began = self._run_began = now
        self._phase = ""
        self._steps: int | None = None
        self._losses: Sequence[float] = ()
        #: Of the runs so far: a re-run of a loop that is not ours takes as many steps as it took before.
        self._longest = 0
        self.tell_at = now + show.after

    def begins(self, phase: str) -> None:
        """Another run; until it takes steps, it is building its training."""
        self._longest = max(self._longest, len(self._losses))
        self._phase, self._losses, self._steps = phase, (), None

    def follows(self, losses: Sequence[float], steps: int | None, now: float) -> None:
        """The run has been built, and adds a loss to this list with every step."""
        self._longest = max(self._longest, len(self._losses))
        self._losses, self._steps, self._run_began = losses, steps, now

    def tell(self, now: float, most_left: float = math.inf) -> None:
        """Nothing that a display does may keep a check from its verdict: one that cannot is not asked again."""
        try:
            self._show.tell(self.standing(now, most_left))
            self.tell_at = now + self._show.every
        except Exception:
            self.tell_at = math.inf

    def standing(self, now: float, most_left: float = math.inf) -> Standing:
        """`most_left`: seconds after which the check ends anyway."""
        step, steps = len(self._losses), self._steps or self._longest or None
        if steps is not None and step > steps:
            steps = None
        left = None if steps is None or not step else (now - self._run_began) / step * (steps - step)
        left = None if left is None else max(min(left, most_left), 0.0)
        # a loss that is not finite ends a run; where a loop shows no loss, its steps have none either
        loss = self._losses[-1] if self._losses and math.isfinite(self._losses[-1]) else None
        return Standing(self._check, self._training, self._phase, step, steps, loss, now - self._began, left)
