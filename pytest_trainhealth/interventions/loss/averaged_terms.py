"""Terms of a loss that are sums over the samples weigh as much as their means would.

For trainings whose loop is ours: only there is a loss known before its backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from torch import Tensor

from ...observe.calls.term_gradients import scale_terms
from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import batch_size


class AveragedTerms(Listener):
    def __init__(self, run: Run, stack: ExitStack, terms: Sequence[int]) -> None:
        self._run, self._terms, self._stack = run, terms, stack

    def step_begins(self, batch: object) -> None:
        if self._run.step:
            return
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        original = stepper._loss

        def averaged(given: Any) -> tuple[Tensor, float]:
            loss, value = original(given)
            scale_terms(loss, self._terms, 1 / (batch_size(given) or 1))
            return loss, value

        stepper._loss = averaged
        self._stack.callback(stepper.__dict__.pop, "_loss", None)
