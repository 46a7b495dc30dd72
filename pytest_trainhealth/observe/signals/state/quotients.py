"""Losses that end in a quotient of two sums over the samples, as a soft Dice does: what one batch would make of them.

A mean over samples is the mean of the means of its parts. A quotient of sums is not the mean of quotients: one batch
divides the sum of all numerators by the sum of all denominators. Both, and their gradients, can be told from the
passes: in one more backward pass the denominator gets no gradient, so that what is left is the numerator's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

#: How many operations at the end of a loss are searched for the quotient, and how many behind it for its sums. By
#: judgement: a scale, a division, a sign, a difference to 1; an epsilon, a factor, and a sum of several sums.
_DEEP, _DEEPER = 8, 8
#: What changes one number into another, with numbers that need no gradient.
_PLAIN = ("Div", "Mul", "Neg", "Add", "Sub", "Rsub", "ToCopy", "View", "Reshape", "Squeeze", "UnsafeView", "Alias")
_SUMS = ("SumBackward", "MeanBackward")


@dataclass
class Quotient:
    """The quotient of one pass, and the gradients of the loss through its numerator alone."""

    numerator: float
    denominator: float
    #: The derivative of the loss with respect to the quotient.
    slope: float = 0.0
    through_numerator: dict[str, Tensor] = field(default_factory=dict)


def quotient_of(root: Tensor, parameters: dict[str, Tensor]) -> Quotient | None:
    """None where the loss does not end in a quotient whose both parts are sums with a gradient."""
    node: Any = root.grad_fn
    for _ in range(_DEEP):
        if node is None or not type(node).__name__.startswith(_PLAIN):
            return None
        inner = [each for each, _ in node.next_functions if each is not None]
        if type(node).__name__.startswith("DivBackward") and len(inner) == 2:
            return _taken_apart(root, node, inner, parameters)
        if len(inner) != 1:
            return None
        node = inner[0]
    return None


def _taken_apart(root: Tensor, node: Any, inner: list[Any], parameters: dict[str, Tensor]) -> Quotient | None:
    above, below = getattr(node, "_saved_self", None), getattr(node, "_saved_other", None)
    if not isinstance(above, Tensor) or not isinstance(below, Tensor) or above.numel() != 1 or below.numel() != 1:
        return None
    found = Quotient(float(above.detach()), float(below.detach()))
    if not all(_adds_up(each, _DEEPER) for each in inner) or not found.numerator or not found.denominator:
        return None

    def numerator_only(grad_inputs: Any, grad_outputs: Any) -> Any:
        found.slope = float(grad_outputs[0])
        return grad_inputs[0], torch.zeros_like(grad_inputs[1])

    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    handle = node.register_hook(numerator_only)
    try:
        slopes = torch.autograd.grad(root, list(trained.values()), retain_graph=True, allow_unused=True)
    except RuntimeError:  # a graph that was freed, or cannot be traversed twice
        return None
    finally:
        handle.remove()
    found.through_numerator = {
        name: torch.zeros_like(p) if slope is None else slope.detach()
        for (name, p), slope in zip(trained.items(), slopes, strict=True)
        if slope is None or slope.layout is torch.strided
    }
    return found if found.slope and math.isfinite(found.slope) else None


def _adds_up(node: Any, deep: int) -> bool:
    """It is a sum, or a mean, over many values, plain or with numbers added and multiplied."""
    name = type(node).__name__
    if name.startswith(_SUMS):
        sizes = getattr(node, "_saved_self_sym_sizes", ())
        return math.prod(sizes) > 1
    if deep == 0 or not name.startswith((*_PLAIN, "Clamp")):  # a root of a sum does not add up
        return False
    return any(_adds_up(each, deep - 1) for each, _ in node.next_functions if each is not None)


class QuotientPasses:
    """The passes of one update, each of which ends in a quotient."""

    def __init__(self) -> None:
        self._quotients: list[Quotient] = []
        self._numerators: dict[str, Tensor] = {}
        self._denominators: dict[str, Tensor] = {}
        self._pending: Quotient | None = None
        self._all = True
        self._rows: set[int] = set()

    def begins(self, root: Tensor | None, rows: int, parameters: dict[str, Tensor]) -> None:
        """`root`: what the pass starts from, if from one number. `rows`: of what the model was called with.

        A single sample has a quotient of its own, and so has an object of many points: passes of different sizes.
        """
        self._rows.add(rows)
        several = len(self._rows) == 1 and rows > 1
        self._all = self._all and several and root is not None
        self._pending = quotient_of(root, parameters) if root is not None and self._all else None
        self._all = self._all and self._pending is not None

    def added(self, name: str, gradient: Tensor) -> None:
        """What the pass has added to the gradient of a parameter."""
        one = self._pending
        if one is None or name not in one.through_numerator:
            return
        through = one.through_numerator[name].double()
        above = through * (one.denominator / one.slope)
        below = (gradient.double() - through) * (-(one.denominator**2) / (one.slope * one.numerator))
        for kept, part in ((self._numerators, above), (self._denominators, below)):
            kept[name] = kept[name] + part if name in kept else part

    def ends(self) -> None:
        if self._pending is not None:
            self._pending.through_numerator = {}
            self._quotients.append(self._pending)
        self._pending = None

    def of_one_batch(self, names: Iterable[str]) -> dict[str, Tensor] | None:
        """The gradient of the quotient of all sums, up to a factor; None where a pass has no such quotient."""
        if not self._all or len(self._quotients) < 2:
            return None
        above, below = (sum(getattr(each, part) for each in self._quotients) for part in ("numerator", "denominator"))
        return {
            name: self._numerators[name] / below - self._denominators[name] * (above / below**2)
            for name in names
            if name in self._numerators
        }


def apart_in_direction(found: Tensor, right: Tensor) -> tuple[float, float]:
    """The size of one gradient as a multiple of the other, and what is left of it beside, as a share."""
    size = float(right @ right)
    if not size or not float(found @ right):
        return math.nan, math.nan
    factor = float(found @ right) / size
    return factor, float((found - factor * right).norm()) / (abs(factor) * math.sqrt(size))
