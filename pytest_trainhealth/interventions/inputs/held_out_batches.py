"""The last quarter of the batches is never learnt from: what the loss is there shows whether anything carries over."""

from __future__ import annotations

from contextlib import ExitStack

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run

#: Of the batches. By judgement: a quarter is enough to see, and little to miss.
_SHARE = 4
#: Fewer batches leave nothing to hold out. By judgement.
_FEWEST = 4
#: More batches are not kept in memory. By judgement: 64 are as many as a run of this check sees.
_MOST = 64


class HeldOutBatches(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._held = False

    def run_begins(self) -> None:
        """A loader that shuffles would deal the samples anew in every epoch: its first epoch is kept."""
        count, feed = self._run.trace.batches, self._run.feed
        if feed is not None and count is not None and _FEWEST <= count <= _MOST and not isinstance(feed.source, list):
            feed.preload(count)

    def step_begins(self, batch: object) -> None:
        count, feed = self._run.trace.batches, self._run.feed
        self._held = False
        if feed is None or count is None or count < _FEWEST:
            return
        self._held = feed.position >= count - max(1, count // _SHARE)
        if self._held:
            self._run.trace.applied.held_out.append(self._run.step)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._held:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None
