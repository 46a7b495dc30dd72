"""Uses each gradient once: an optimizer that holds a parameter twice keeps it once, and a second optimizer skips it."""

from __future__ import annotations

from contextlib import ExitStack

from torch import Tensor
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class SingleUpdates(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._used: dict[int, int] = {}
        self._set_aside: list[tuple[Tensor, Tensor]] = []

    def backward_begins(self, roots: object) -> None:
        self._used.clear()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        seen: set[int] = set()
        for group in optimizer.param_groups:
            kept = [p for p in group["params"] if not (id(p) in seen or seen.add(id(p)))]  # type: ignore[func-returns-value]
            if len(kept) < len(group["params"]):
                group["params"] = kept
                self._run.rematch()
        if has_closure or self._set_aside:
            return
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if self._used.setdefault(id(p), id(optimizer)) != id(optimizer):
                    self._set_aside.append((p, p.grad))
                    p.grad = None

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        for p, grad in self._set_aside:
            p.grad = grad
        self._set_aside.clear()
