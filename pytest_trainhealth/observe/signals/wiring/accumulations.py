"""How many backward passes go into one update, and whether their losses were divided by that number."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from ....records.verdict import Place
from ....records.wiring import Accumulation
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: How many operations at the end of a loss are searched for a factor: the scale of a loss scaler, then the division.
#: By judgement: these two, and two for a change of type or shape.
_DEEP = 4
#: Most updates that are recorded. By judgement: 64, as the number of passes is the same from update to update.
_MOST_RECORDS = 64


class Accumulations(Signal):
    NAME, COST = "accumulations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._factors: list[float] = []
        self._places: list[Place | None] = []

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._factors.append(_factor(roots[0]) if len(roots) == 1 else 1.0)
        self._places.append(user_place())

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        passes, found = len(self._factors), self._run.trace.wiring.accumulations
        if passes and not has_closure and len(found) < _MOST_RECORDS:
            one_loop = len(set(self._places)) == 1
            label = self._run.add_optimizer(optimizer)
            found.append(
                Accumulation(
                    self._run.step, label, passes, max(self._factors), self._places[0] if one_loop else None, one_loop
                )
            )
        self._factors.clear()
        self._places.clear()


def _factor(root: Tensor) -> float:
    """The smallest number that the loss was multiplied by at its very end; 1 where it was not."""
    smallest, node = 1.0, root.grad_fn
    for _ in range(_DEEP):
        kind = type(node).__name__
        if node is None or kind not in ("DivBackward0", "MulBackward0"):
            break
        other: Any = getattr(node, "_saved_other", None)
        if isinstance(other, Tensor) and other.numel() == 1 and not other.requires_grad:
            value = abs(float(other))
            if value:
                smallest = min(smallest, 1 / value if kind == "DivBackward0" else value)
        inner = [each for each, _ in node.next_functions if each is not None]
        node = inner[0] if len(inner) == 1 else None
    return smallest
