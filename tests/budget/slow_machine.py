"""A clock that goes only as far as a test says, and steps that take as long as it says.

The clock is none of the training's: a re-run, or a probe that leaves everything as it was, would turn that back.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_trainhealth.budget import monotonic
from pytest_trainhealth.observe.run.stepper import Stepper


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1000.0
        self._monkeypatch, self._take = monkeypatch, Stepper.take
        monkeypatch.setattr(monotonic, "now", lambda: self.seconds)

    def passes(self, seconds: float) -> None:
        self.seconds += seconds

    def steps_take(self, seconds: float) -> None:
        take = self._take

        def slow(stepper: Stepper, batch: Any) -> float:
            self.passes(seconds)
            return take(stepper, batch)

        self._monkeypatch.setattr(Stepper, "take", slow)
