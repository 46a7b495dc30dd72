"""Which parameters a tensor was computed from, read off its autograd graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

#: Operations that are followed at most. By judgement: ten times the graph of a large transformer.
_MOST_NODES = 200_000


def leaves_of(tensors: Iterable[Tensor], names: Mapping[int, str], clear: set[Any] | None = None) -> frozenset[str]:
    """The names (by `id`) of the leaves that these tensors depend on; a leaf among them counts itself.

    `clear`: operations behind which there is none, from earlier calls; what this call finds clear is added.
    """
    found: set[str] = set()
    nodes: list[Any] = []
    for tensor in tensors:
        if tensor.grad_fn is not None:
            nodes.append(tensor.grad_fn)
        elif id(tensor) in names:
            found.add(names[id(tensor)])
    return frozenset(found | leaves_behind(nodes, names, clear))


def leaves_behind(nodes: Iterable[Any], names: Mapping[int, str], clear: set[Any] | None = None) -> frozenset[str]:
    """The same, from operations of the graph on."""
    found: set[str] = set()
    todo = [node for node in nodes if not (clear and node in clear)]
    seen = set(todo)
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) in names:
            found.add(names[id(leaf)])
        for inner, _ in node.next_functions:
            if inner is not None and inner not in seen and not (clear and inner in clear):
                seen.add(inner)
                todo.append(inner)
    if clear is not None and not found:
        clear |= seen
    return frozenset(found)


def tensors_in(value: Any) -> list[Tensor]:
    """Those of an argument or a result: a tensor, or a list, tuple or dict of some."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for each in value.values() for tensor in tensors_in(each)]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []
