"""Learning rates and the number of steps of each optimizer."""

from __future__ import annotations

from torch.optim import Optimizer

from .run import Run


class Optimizers:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._updates = 0

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        record = self._run.trace.optimizers[self._run.add_optimizer(optimizer)]
        if self._run.sampled or not record.lr:
            record.lr[self._run.step] = max(float(group.get("lr", 0.0)) for group in optimizer.param_groups)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._run.trace.optimizers[self._run.add_optimizer(optimizer)].steps += 1
        self._updates += 1

    def step_ends(self) -> None:
        self._run.trace.updates.append(self._updates)
        self._updates = 0


class Backwards:
    """How often backward() was called, step by step, and whether it could reach anything."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._count = 0

    def backward_begins(self, roots: list[object]) -> None:
        self._count += 1
        if not any(getattr(root, "requires_grad", False) for root in roots):
            self._run.trace.loss_connected = False

    def step_ends(self) -> None:
        self._run.trace.backwards.append(self._count)
        self._count = 0
