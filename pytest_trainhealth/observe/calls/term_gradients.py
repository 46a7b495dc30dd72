"""The gradient of each addend of a loss by itself: the same backward pass, in which the others get nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .loss_terms import loss_terms

#: More terms than this are not looked at one by one. By judgement: each costs a backward pass, and a loss of nine terms
#: is rare.
_MOST = 8
#: Operations behind a sum that are searched for numbers its values are multiplied by. By judgement, as for the end of a
#: loss (`pass_terms`).
_DEEP = 6


@dataclass(frozen=True)
class TermGradient:
    #: Of the operation that ends it: "smooth_l1_loss".
    name: str
    #: What the values that it adds up are multiplied by, as far as that is a number.
    factor: float
    gradient: Tensor


def term_gradients(root: Tensor, of: Callable[[Tensor], Tensor]) -> list[TermGradient]:
    """Empty where the loss is not a sum of a few terms. `of` takes the gradient; the graph has to be kept by it."""
    nodes = loss_terms(root)
    if not 1 < len(nodes) <= _MOST or len(set(map(id, nodes))) < len(nodes):
        return []
    found = []
    for node in nodes:
        seen: list[float] = []
        with ExitStack() as stack:
            for other in nodes:
                hook = _noting(seen) if other is node else _nothing
                stack.callback(other.register_prehook(hook).remove)
            gradient = of(root)
        found.append(TermGradient(_name(node), (seen[0] if seen else 0.0) * _inner_factor(node), gradient))
    return found


def scale_terms(root: Tensor, which: Sequence[int], factor: float) -> None:
    """From now on, these terms of the loss get their gradient times a factor."""
    nodes = loss_terms(root)
    for index in which:
        if index < len(nodes):
            nodes[index].register_prehook(lambda grads: tuple(g if g is None else g * factor for g in grads))


def _nothing(grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    return tuple(None if g is None else torch.zeros_like(g) for g in grads)


def _noting(seen: list[float]) -> Callable[[Sequence[Tensor | None]], None]:
    def note(grads: Sequence[Tensor | None]) -> None:
        first = next((g for g in grads if g is not None), None)
        if first is not None and first.numel() == 1:
            seen.append(float(first))

    return note


def _name(node: Any) -> str:
    plain = re.sub(r"Backward\d*$", "", type(node).__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()


def _inner_factor(node: Any) -> float:
    """Of `(errors * 0.1).sum()`: 0.1."""
    factor = 1.0
    for _ in range(_DEEP):
        inner = [each for each, _ in node.next_functions if each is not None]
        if len(inner) != 1:
            return factor
        node = inner[0]
        if type(node).__name__.startswith(("MulBackward", "DivBackward")):
            other = getattr(node, "_saved_other", None)
            if isinstance(other, Tensor) and other.numel() == 1 and float(other):
                factor *= 1 / float(other) if type(node).__name__.startswith("Div") else float(other)
    return factor
