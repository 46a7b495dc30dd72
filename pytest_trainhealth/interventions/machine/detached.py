"""Detaches tensors that outlive their step from their graph. Tensors from before the run stay as they are.

In a watched test it is unknown where in its loop a step ends: the loss may be computed, and its backward pass still to
come. So tensors are detached once each optimizer has made its update: no earlier graph is needed after that.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.signals.speed.live_graphs import Since

#: Going through all objects takes longer than a step. By judgement: every fourth step is enough to limit what is kept.
_EVERY = 4
#: By then every optimizer has been seen. By judgement: two steps, since one may be without an update.
_FIRST_STEPS = 2


class Detached(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._since: Since | None = None
        #: The optimizers that make updates, and those that have made one since the last round was complete.
        self._all: set[int] = set()
        self._updated: set[int] = set()
        self._rounds = 0

    def run_begins(self) -> None:
        self._since = Since()

    def step_ends(self) -> None:
        if self._run.feed is not None and self._run.step % _EVERY == 0:
            self._cut_off()

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if self._run.feed is not None:
            return
        self._all.add(id(optimizer))
        self._updated.add(id(optimizer))
        if self._updated < self._all or self._run.step < _FIRST_STEPS:
            return
        self._updated.clear()
        self._rounds += 1
        if self._rounds % _EVERY == 0:
            self._cut_off()

    def _cut_off(self) -> None:
        assert self._since is not None
        for tensor in self._since.with_graph():
            with suppress(RuntimeError):  # a view cannot be detached in place
                tensor.detach_()
