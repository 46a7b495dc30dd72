"""The steps that are timed: many of them, none far from the start.

A comparison takes thousands of steps. A training that went on and on would come to the end of its schedule
(`OneCycleLR` raises then), and what is timed would no longer be what the test trains: so it begins again from time to
time, aside from the clock.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.utils.data import DataLoader

from ..observe.run.feed import Feed
from ..observe.run.stepper import Stepper
from ..programs.start import Start
from ..state.process import remember_random_numbers
from ..state.snapshot import Snapshot
from . import loader_workers
from .step_sync import Pace

#: Steps from one start, and those of them that are nobody's measure: memory is allocated, workers are started (which
#: takes as long as many steps, so the check's own number of steps would make most of a comparison a matter of that). By
#: judgement: 3 of 200 are no loss.
LONGEST, WARM_UP = 200, 3


class LongRun:
    """Put back by a snapshot rather than built anew, which may take long, and would compile a model again."""

    def __init__(self, start: Start, device: torch.device | None, promised: int = LONGEST) -> None:
        """`promised`: the steps that the check itself takes, and that a training has to bear."""
        self.training = start.begin()
        self._device, self._promised, self._longest = device, promised, LONGEST
        self._start = Snapshot(self.training.state_roots())
        self._put_back_random_numbers = remember_random_numbers()
        self._feed: Feed | None = None
        self._ahead = _queue(self.training.data)
        #: Seconds that the latest step waited for its batch.
        self.waited = 0.0
        self._begin()

    @property
    def pace(self) -> Pace:
        return Pace(loader_workers.count(), self._ahead, self._longest)

    def begin(self, pace: Pace) -> None:
        """Once more, unless this is the start; from now on like another side that has this pace."""
        is_there = self._taken == WARM_UP and pace.ahead <= self._ahead
        self._ahead, self._longest = max(self._ahead, pace.ahead), min(self._longest, pace.max_steps)
        if not is_there:
            self._begin_again()

    def get_ready(self, ahead: int = 1) -> None:
        """For so many steps that are timed: nothing that is not their own is left to do."""
        if self._taken + ahead > self._longest:
            self._begin_again()

    def step(self) -> bool:
        """False where the training does not go on so far, a schedule of a hundred steps for one: then it has begun
        again, and what has passed is nobody's measure."""
        assert self._feed is not None
        try:
            began = time.perf_counter()
            batch = self._feed.take()
            self.waited = time.perf_counter() - began - self._feed.moving
            self._stepper.take(batch)
        except Exception:
            if self._taken < self._promised:
                raise
            self._longest = self._promised
            self._begin_again()
            return False
        self._feed.give_back()
        self._taken += 1
        return True

    def close(self) -> None:
        """At once: workers of a loader that nobody reads from any more would keep a core busy."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def _begin_again(self) -> None:
        self.close()
        self._start.restore()
        self._put_back_random_numbers()
        self._begin()

    def _begin(self) -> None:
        self._feed = Feed(self.training, one_batch=False, device=self._device)
        self._stepper = Stepper(self.training)
        self._taken = 0
        for _ in range(WARM_UP):
            self.step()
        # What was made ready during the slow first steps would hide for long that a loader cannot keep up.
        for _ in range(self._ahead):
            self._feed.take()


def _queue(data: Any) -> int:
    """Batches that a loader has made ahead, where it has worker processes."""
    return data.num_workers * (data.prefetch_factor or 0) if isinstance(data, DataLoader) else 0
