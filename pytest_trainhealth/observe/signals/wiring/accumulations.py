"""How many backward passes go into one update, and whether their losses were divided by that number."""

from __future__ import annotations

import math
from statistics import fmean
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
#: `reduction="sum"`, as torch numbers them: 2.
_SUM = 2


class Accumulations(Signal):
    NAME, COST = "accumulations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._weights: list[float] = []
        self._places: list[Place | None] = []

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._weights.append(_weight(roots[0]) if len(roots) == 1 else 1.0)
        self._places.append(user_place())

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        passes, found = len(self._weights), self._run.trace.wiring.accumulations
        if passes and not has_closure and len(found) < _MOST_RECORDS:
            one_loop = len(set(self._places)) == 1
            label = self._run.add_optimizer(optimizer)
            found.append(
                Accumulation(
                    self._run.step, label, passes, fmean(self._weights), self._places[0] if one_loop else None, one_loop
                )
            )
        self._weights.clear()
        self._places.clear()


def _weight(root: Tensor) -> float:
    """What the mean over this pass counts for in the sum of all: 1/k where each of k losses is divided by k.

    A sum that is divided by as many values as it has, or fewer, is a mean and counts for 1; one that is divided by the
    number of all values of the update counts for its share.
    """
    weight, node = 1.0, root.grad_fn
    for _ in range(_DEEP):
        kind = type(node).__name__
        if node is None or kind not in ("DivBackward0", "MulBackward0"):
            break
        other: Any = getattr(node, "_saved_other", None)
        if isinstance(other, Tensor) and other.numel() == 1 and not other.requires_grad:
            value = abs(float(other))
            factor = (1 / value if kind == "DivBackward0" else value) if value else 1.0
            weight *= min(factor, 1.0)  # a loss scaler's factor is removed again
        inner = [each for each, _ in node.next_functions if each is not None]
        node = inner[0] if len(inner) == 1 else None
    return min(1.0, weight * _summed(node))


def _summed(node: Any) -> float:
    """How many values a loss is the sum of; 1 for a mean."""
    kind = type(node).__name__
    if kind == "SumBackward0":
        inner = next((each for each, _ in node.next_functions if each is not None), None)
        mask: Any = getattr(inner, "_saved_other", None) if type(inner).__name__ == "MulBackward0" else None
        size = math.prod(node._saved_self_sym_sizes)
        masked = isinstance(mask, Tensor) and mask.numel() == size and not mask.requires_grad
        return float(mask.count_nonzero()) if masked else float(size)
    if getattr(node, "_saved_reduction", None) != _SUM:
        return 1.0
    counted: Any = getattr(node, "_saved_total_weight", None)
    given: Any = getattr(node, "_saved_target", None)
    if isinstance(counted, Tensor) and counted.numel() == 1:
        return max(float(counted), 1.0)
    return float(given.numel()) if isinstance(given, Tensor) else 1.0
