"""What a loss adds up: the parts of its graph behind the additions that end it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

#: Additions at the end of a loss that are taken apart. By judgement: 64 losses are more than anybody adds by hand, and
#: a penalty summed over all parameters need not be taken apart to its end.
_MOST = 64
#: Operations on one number that leave a sum a sum: signs, factors, types. A product of two losses is not one of them.
_PASSED_THROUGH = ("NegBackward", "MulBackward", "DivBackward", "ToCopyBackward")
_ADDS = ("AddBackward", "SubBackward")


def loss_terms(root: Tensor) -> list[Any]:
    """The nodes of the terms; the loss itself where nothing is added. Only a single number is taken apart."""
    if root.grad_fn is None or root.numel() != 1:
        return [] if root.grad_fn is None else [root.grad_fn]
    terms: list[Any] = []
    todo = [root.grad_fn]
    while todo:
        node = todo.pop()
        inner = list(_inner(node))
        added = type(node).__name__.startswith(_ADDS)
        passed = type(node).__name__.startswith(_PASSED_THROUGH) and len(inner) == 1
        if (added or passed) and len(terms) + len(todo) < _MOST:
            todo.extend(inner)
        else:
            terms.append(node)
    return terms


def _inner(node: Any) -> Iterator[Any]:
    return (each for each, _ in node.next_functions if each is not None)
