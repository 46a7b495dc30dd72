"""Clips the norm of the gradients before each optimizer step."""

from __future__ import annotations

from contextlib import ExitStack

from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class ClipGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack, max_norm: float = 1.0) -> None:
        self._max_norm = max_norm

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not has_closure:
            held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            clip_grad_norm_(held, self._max_norm)
