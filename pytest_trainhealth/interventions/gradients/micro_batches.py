"""The gradient of a batch is accumulated from parts of it: what is kept for the backward pass is that of one part.

For trainings whose loop is ours: whoever calls `backward()` in a step of their own cuts their batches themselves.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import batch_size
from ...tensors.parts_of_batches import rows_of


class MicroBatches(Listener):
    def __init__(self, run: Run, stack: ExitStack, count: int) -> None:
        self._run, self._count, self._stack = run, count, stack

    def step_begins(self, batch: object) -> None:
        if self._run.step:
            return
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        stepper._backward = lambda whole: self._accumulated(stepper, whole)
        self._stack.callback(stepper.__dict__.pop, "_backward", None)

    def _accumulated(self, stepper: Any, batch: Any) -> float:
        samples = batch_size(batch) or 0
        parts = [slice(samples * n // self._count, samples * (n + 1) // self._count) for n in range(self._count)]
        total = 0.0
        for rows in (each for each in parts if each.stop > each.start):
            share = (rows.stop - rows.start) / samples
            loss, value = stepper._loss(rows_of(batch, samples, rows))
            scaled = share * (loss if stepper.scaler is None else stepper.scaler.scale(loss))
            scaled.backward()
            total += share * value
        return total
