"""Updates that no optimizer of torch makes: between two backward passes a parameter got other values.

By hand, or by an optimizer of another package: torch announces neither. Only where there is no optimizer to ask.
"""

from __future__ import annotations

from torch import Tensor

from ...tensors.norms import norms
from .run import Run


class HandUpdates:
    def __init__(self, run: Run) -> None:
        self._run = run
        #: What the latest pass left: each parameter with its size, its gradient, and the version of that.
        self._left: list[tuple[Tensor, float, Tensor, int]] = []

    def pass_ends(self) -> None:
        self._left.clear()
        if self._run.optimizers:
            return
        held = [(p, p.grad) for p in self._run.parameters.values() if p.requires_grad and p.grad is not None]
        sizes = norms([parameter for parameter, _ in held])
        self._left = [(p, size, grad, grad._version) for (p, grad), size in zip(held, sizes, strict=True)]

    def used_and_kept(self) -> list[Tensor]:
        """Parameters that were updated since that pass, if the gradients of all of them are still there, untouched.

        Whoever scales gradients down from step to step keeps them on purpose.
        """
        moved = norms([parameter for parameter, *_ in self._left])
        updated = [left for left, now in zip(self._left, moved, strict=True) if left[1] != now]
        kept = all(p.grad is grad and grad._version == version for p, _, grad, version in updated)
        return [p for p, *_ in updated] if kept and any(norms([grad for _, _, grad, _ in updated])) else []
