"""The loop of a framework, taken one step at a time.

A `Trainer.fit()` comes back when everything is over; a check wants one step with this batch, and then perhaps another.
So the loop runs in a coroutine: it stops where it asks for its next batch, and goes on when it is given one. Nothing
of the framework is imitated, and everything that works on a user's own `step` works on it as well. All of it happens in
one thread, because what torch is told to do (modes, autocast, whether gradients are computed) holds for a thread.

A framework's adapter derives from `StepwiseLoop` and says how its loop is started, what it optimizes with, and what the
loss of a step is.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from torch.optim import Optimizer

from .needed import needed

_NOT_KNOWN = object()


class LoopEnded(Exception):
    """The loop has come to its own end, and was asked for another step."""


class _Enough(BaseException):
    """Raised where a loop waits for its next batch, to end it. Not an error: nobody shall handle it."""


class StepwiseLoop:
    """One loop, begun anew for every run.

    Overridden: `fit`, `optimizers`, and as needed `schedulers`, `loss_of_step`, `quietly`, `ending`. The loop that
    `fit` starts calls `next_batch` once for each step, wherever that step begins.
    """

    #: For messages.
    NAME = "the loop"

    def __init__(self, extra: str) -> None:
        """`extra`: the optional dependency of this package that brings the framework."""
        self._greenlet = needed("greenlet", extra)
        self._inside: Any = None
        self._outside: Any = None
        self._loss: Any = _NOT_KNOWN
        self._taken = 0

    # -- what an adapter says ----------------------------------------------------------------------------------------

    def fit(self) -> None:
        """Runs the whole loop of the framework, from its very beginning."""
        raise NotImplementedError

    def optimizers(self) -> Sequence[Optimizer]:
        """Those of the loop that runs. Asked before its first step."""
        raise NotImplementedError

    def schedulers(self) -> Sequence[Any]:
        return ()

    def loss_of_step(self) -> Any:
        """The loss of the step that was just taken; what was noted last with `note_loss`."""
        if self._loss is _NOT_KNOWN:
            raise TypeError(f"{self.NAME} took a step and told no loss: return the loss from it")
        return self._loss

    def quietly(self) -> AbstractContextManager[Any]:
        """Is open whenever the loop runs: for what it would print and warn of at every run."""
        return nullcontext()

    def ending(self) -> None:
        """Right before a loop is ended that would have gone on: for callbacks that an exception would call."""

    # -- called by the loop ------------------------------------------------------------------------------------------

    def next_batch(self) -> Any:
        """Waits for the next step, and returns its batch."""
        batch, trace, profile = self._outside.switch()
        # until Python 3.12 a coroutine does not hear of tracers that were set elsewhere
        if sys.gettrace() is not trace:
            sys.settrace(trace)
        if sys.getprofile() is not profile:
            sys.setprofile(profile)
        return batch

    def note_loss(self, loss: Any) -> None:
        self._loss = loss

    # -- called by a run ---------------------------------------------------------------------------------------------

    @contextmanager
    def running(self) -> Iterator[None]:
        """The loop, begun and waiting for its first batch. Ended afterwards, wherever it is."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def take(self, batch: Any) -> Any:
        """One step, with this batch. Returns its loss."""
        if self._inside is None:
            raise RuntimeError(f"{self.NAME} was asked for a step before it was begun")
        if self._inside.dead:
            raise LoopEnded(f"{self.NAME} ended by itself after {self._taken} batches")
        with self.quietly():
            self._inside.switch((batch, sys.gettrace(), sys.getprofile()))
        self._taken += 1
        return self.loss_of_step()

    def _begin(self) -> None:
        self._outside, self._inside = self._greenlet.getcurrent(), self._greenlet.greenlet(self.fit)
        self._inside.gr_context = contextvars.copy_context()
        self._loss, self._taken = _NOT_KNOWN, 0
        with self.quietly():
            self._inside.switch()
        if self._inside.dead:
            self._inside = self._outside = None
            raise ValueError(f"{self.NAME} ended before it asked for a batch: there is nothing to train")

    def _end(self) -> None:
        inside, self._inside = self._inside, None
        try:
            if inside is not None and not inside.dead:
                self.ending()
                with self.quietly():
                    inside.throw(_Enough)
        except _Enough:
            pass
        finally:
            self._outside, self._loss = None, _NOT_KNOWN
