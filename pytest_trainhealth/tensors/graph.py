"""The graph that autograd has recorded behind a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

#: Operations that are followed at most. By judgement: ten times the graph of a large transformer.
_MOST_NODES = 200_000
#: Turns, casts and reshapes of a parameter before it is used. By judgement: 4, as more is a computation.
_MOST_TURNS = 4


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


def weights_on_the_way(roots: Iterable[Any]) -> tuple[int, int] | None:
    """Of the ways from here back to the inputs, on which the most and the fewest weights are met, and how many.

    A weight is a parameter of two dimensions or more. None where the graph is too large to be followed.
    """
    starts = [root.grad_fn for root in roots if isinstance(root, Tensor) and root.grad_fn is not None]
    ways: dict[Any, tuple[int, int]] = {}
    todo: list[tuple[Any, bool]] = [(node, False) for node in starts]
    while todo:
        node, ready = todo.pop()
        if node in ways:
            continue
        inner = [each for each, _ in node.next_functions if each is not None and not _is_parameter(each)]
        if not ready:
            todo.append((node, True))
            todo += [(each, False) for each in inner if each not in ways]
            if len(ways) + len(todo) > _MOST_NODES:
                return None
            continue
        own = int(any(_is_weight(each) for each, _ in node.next_functions if each is not None))
        behind = [ways[each] for each in inner] or [(0, 0)]
        ways[node] = own + max(way[0] for way in behind), own + min(way[1] for way in behind)
    found = [ways[node] for node in starts]
    return (max(way[0] for way in found), min(way[1] for way in found)) if found else None


def _is_parameter(node: Any) -> bool:
    """The end of the graph, or what only turns a parameter or casts it on its way into an operation."""
    for _ in range(_MOST_TURNS):
        if getattr(node, "variable", None) is not None:
            return True
        if len(node.next_functions) != 1 or node.next_functions[0][0] is None:
            return False
        node = node.next_functions[0][0]
    return False


def _is_weight(node: Any) -> bool:
    while _is_parameter(node):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            return bool(leaf.ndim > 1)
        node = node.next_functions[0][0]
    return False
