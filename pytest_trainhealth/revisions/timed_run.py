"""The steps that are timed: many of them, none far from the start.

A comparison takes thousands of steps. A training that went on and on would come to the end of its schedule
(`OneCycleLR` raises then), and its steps would no longer be those of the test. So it starts over from time to time, and
that is not timed.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
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

#: Steps from one start, and how many of them do not count: they allocate memory and start workers. That takes as long
#: as many steps, and would make up most of a comparison if the training started over as often as the check does. By
#: judgement: 3 of 200 are no loss.
LONGEST, WARM_UP = 200, 3


class LongRun:
    """Returns to its start by a snapshot: building the training anew may take long, and would compile a model again."""

    def __init__(self, start: Start, device: torch.device | None, promised: int = LONGEST) -> None:
        """`promised`: how many steps the check itself takes, so that the training must be able to take them."""
        self.training = start.begin()
        self._device, self._promised, self._longest = device, promised, LONGEST
        self._start = Snapshot(self.training.state_roots())
        self._put_back_random_numbers = remember_random_numbers()
        self._feed: Feed | None = None
        self._running = ExitStack()
        self._ahead = _queue(self.training.data)
        #: Seconds that the latest step waited for its batch.
        self.waited = 0.0
        #: What kept the run from starting over where it had begun, by name.
        self.left: dict[str, None] = {}
        self._begin()

    @property
    def pace(self) -> Pace:
        return Pace(loader_workers.count(), self._ahead, self._longest)

    def begin(self, pace: Pace) -> None:
        """Starts over unless it is at the start already, and from now on keeps pace with the other revision."""
        is_there = self._taken == WARM_UP and pace.ahead <= self._ahead
        self._ahead, self._longest = max(self._ahead, pace.ahead), min(self._longest, pace.max_steps)
        if not is_there:
            self._begin_again()

    def get_ready(self, ahead: int = 1) -> None:
        """Starts over now if it would have to within the next `ahead` steps, which are timed."""
        if self._taken + ahead > self._longest:
            self._begin_again()

    def step(self) -> bool:
        """False if the training cannot go on, because its schedule has only a hundred steps for example. It has then
        started over, and the time of this step does not count."""
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
        """Closes the feed at once: workers of a loader that is no longer read would keep a core busy."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None
        self._running.close()

    def _begin_again(self) -> None:
        self.close()
        self.left.update(dict.fromkeys((*self._start.restore(), *self._start.one_way)))
        self._put_back_random_numbers()
        self._begin()

    def _begin(self) -> None:
        self._running.enter_context(self.training.running())
        self._feed = Feed(self.training, one_batch=False, device=self._device)
        self._stepper = Stepper(self.training)
        self._taken = 0
        for _ in range(WARM_UP):
            self.step()
        # Batches made ready during the slow first steps would hide for a long time that a loader cannot keep up.
        for _ in range(self._ahead):
            self._feed.take()


def _queue(data: Any) -> int:
    """How many batches a loader with worker processes makes in advance."""
    return data.num_workers * (data.prefetch_factor or 0) if isinstance(data, DataLoader) else 0
