"""Loss scaling without `GradScaler`: a loss is multiplied by a constant, and the gradients are divided by it again.

A write that multiplies gradients by a constant is an unscaling where the loss of the last backward pass was multiplied
by its inverse: whoever wrote it, the two belong together. Both signals and cures have to tell it from clipping.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

#: Operations between the scaled loss and the tensor that backward() is called on. By judgement, as for a `GradScaler`
#: (loss_scale.py): a division by the number of passes, and one or two changes of shape.
_DEEP = 4
#: A smaller factor is none. By judgement, as for a `GradScaler`: scales are powers of 2.
_SMALLEST = 2.0
#: Of 1, for a factor times its inverse. By judgement: float16 has three digits.
_ROUNDING = 1e-3

_TIMES = {"mul_", "__imul__", "_foreach_mul_"}
_DIVIDED = {"div_", "true_divide_", "__itruediv__", "_foreach_div_"}


class OwnScaling:
    """Tell it of each backward pass before it begins, and ask it about what is written into gradients after that."""

    def __init__(self) -> None:
        self._factors: set[float] = set()

    def pass_begins(self, roots: Iterable[Tensor]) -> None:
        self._factors = {factor for root in roots for factor in _factors(root)}

    def removed_by(self, name: str, args: tuple[Any, ...]) -> float | None:
        """The factor that a call takes out of its first argument; None if it does something else."""
        if not self._factors or len(args) < 2 or name not in _TIMES | _DIVIDED:
            return None
        constant = _constant(args[1])
        if not constant:
            return None
        return self._known(1 / constant if name in _TIMES else constant)

    def removed_between(self, before: float, after: float) -> float | None:
        """The same for a gradient that was exchanged for another one, by the norms of both."""
        return self._known(before / after) if self._factors and before > 0 and after > 0 else None

    def _known(self, factor: float) -> float | None:
        return next((each for each in self._factors if abs(factor / each - 1) < _ROUNDING), None)


def _factors(root: Tensor) -> set[float]:
    """The constants that a loss was multiplied by, each by itself and all of them together."""
    found: set[float] = set()
    together, node = 1.0, root.grad_fn
    for _ in range(_DEEP):
        if node is None:
            break
        constant = _multiplied_by(node)
        if constant:
            together *= constant
            found |= {constant, together}
        inner = [each for each, _ in node.next_functions if each is not None]
        node = inner[0] if len(inner) == 1 else None
    return {factor for factor in found if factor >= _SMALLEST}


def _multiplied_by(node: Any) -> float | None:
    kind = type(node).__name__
    if kind == "MulBackward0":
        for saved in (getattr(node, "_saved_other", None), getattr(node, "_saved_self", None)):
            if (constant := _constant(saved)) is not None:
                return constant
    if kind == "DivBackward0":
        constant = _constant(getattr(node, "_saved_other", None))
        return 1 / constant if constant else None
    return None


def _constant(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return float(value) if value.numel() == 1 and not value.requires_grad and not value.is_complex() else None
    return float(value) if isinstance(value, (int, float)) else None
