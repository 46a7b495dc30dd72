"""The graph that autograd has recorded behind a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

#: Operations that are followed at most. By judgement: ten times the graph of a large transformer.
_MOST_NODES = 200_000


def leaf_tensors(roots: Iterable[Any]) -> list[Tensor]:
    """The leaves that a backward pass from here would reach, each once; a root that is one counts itself."""
    found: dict[int, Tensor] = {}
    todo: list[Any] = []
    for root in roots:
        if not isinstance(root, Tensor):  # an edge of the graph may be given instead
            continue
        if root.grad_fn is not None:
            todo.append(root.grad_fn)
        elif root.requires_grad:
            found[id(root)] = root
    seen = set(todo)
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found[id(leaf)] = leaf
        for inner, _ in node.next_functions:
            if inner is not None and inner not in seen:
                seen.add(inner)
                todo.append(inner)
    return list(found.values())
