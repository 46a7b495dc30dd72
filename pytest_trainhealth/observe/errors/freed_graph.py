"""Which part of a graph had been freed when a backward pass came to it, and whether an earlier step had made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from ...records.verdict import Place
from ..source.forward_lines import forward_place

#: Nodes that are looked at. By judgement: a state that is never detached grows a graph with every step.
_MOST = 20_000
#: Lines that are shown. By judgement: where the two parts of the graph meet is one line, or two.
_MOST_LINES = 2


def freed_part(roots: Sequence[Tensor]) -> tuple[tuple[Place, ...], bool]:
    """The latest lines of it, and whether none is known because its step is long over, or an earlier one's."""
    freed = sorted((node for node in _nodes(roots) if _is_freed(node)), key=_number, reverse=True)
    if not freed:
        return (), False
    places = [place for place in map(forward_place, freed) if place is not None]
    # the part that is whole was made after it: by this step alone, where the graph of the last step is freed
    whole = any(not _is_freed(node) and _saves(node) for node in _nodes(roots))
    return tuple(dict.fromkeys(places))[:_MOST_LINES], whole


def _nodes(roots: Sequence[Tensor]) -> Iterator[Any]:
    waiting: list[Any] = [root.grad_fn for root in roots if isinstance(root, Tensor) and root.grad_fn is not None]
    seen: set[Any] = set()
    while waiting and len(seen) < _MOST:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [following for following, _ in node.next_functions if following is not None]


def _saved(node: Any) -> list[str]:
    return [name for name in dir(node) if name.startswith("_saved_")]


def _saves(node: Any) -> bool:
    return any(isinstance(getattr(node, name, None), Tensor) for name in _saved(node))


def _is_freed(node: Any) -> bool:
    for name in _saved(node):
        try:
            getattr(node, name)
        except RuntimeError as error:
            if "freed" in str(error):
                return True
        except Exception:  # of a value that cannot be shown
            continue
    return False


def _number(node: Any) -> int:
    try:
        return int(node._sequence_nr())
    except Exception:
        return 0
