"""Tensors with a graph that outlive their step, and who holds them.

The tensors are found through Python's garbage collector. What hangs on them (the activations of the whole forward
pass) has no Python object; the nodes of their graphs are counted instead.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any
from weakref import ref

from torch import Tensor

from .origin import is_library_file

#: Of one look; larger graphs are counted up to here.
_MOST_NODES = 50_000
_OURS = __name__.partition(".")[0]
#: Tuples in tuples.
_DEEPEST = 3
#: A thing, what kind of thing it is to its user, and its name.
Holder = tuple[Any, str, str]
Held = tuple[Holder, list[Tensor]]


def with_graph() -> list[Tensor]:
    """All tensors that have one now."""
    return [thing for thing in gc.get_objects() if _is_tensor(type(thing)) and _has_graph(thing)]


class Since:
    """Those that were not there when this was made. Known by identity, which another tensor has once one is gone."""

    def __init__(self) -> None:
        self._before = {id(tensor): ref(tensor) for tensor in with_graph()}

    def with_graph(self) -> list[Tensor]:
        return [tensor for tensor in with_graph() if not self._was_there(tensor)]

    def _was_there(self, tensor: Tensor) -> bool:
        known = self._before.get(id(tensor))
        return known is not None and known() is tensor


def _is_tensor(kind: type) -> bool:
    """Asked of the type: an object may answer for another. What the compiler keeps for itself is left out."""
    return issubclass(kind, Tensor) and not kind.__module__.startswith("torch._")


def _has_graph(tensor: Tensor) -> bool:
    try:
        return tensor.grad_fn is not None
    except RuntimeError:  # a view whose base was written to says so only when asked
        return False


def nodes_of(tensors: Iterable[Tensor]) -> int:
    """Nodes of their graphs, each counted once."""
    seen: set[Any] = set()
    todo = [tensor.grad_fn for tensor in tensors]
    while todo and len(seen) < _MOST_NODES:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [following for following, _ in node.next_functions]
    return len(seen)


def holders(tensors: list[Tensor]) -> list[Held]:
    """What keeps them, and which of them. A tuple is looked through: something holds that in turn."""
    found = [((frame, "the variable", name), [value]) for frame, name, value in _variables() if _is_one(value, tensors)]
    things: list[Any] = tensors
    seen = {id(tensors), id(found)}
    for _ in range(_DEEPEST):
        tuples: list[Any] = []
        seen |= {id(things), id(tuples)}
        for referrer in gc.get_referrers(*things):
            if id(referrer) in seen:
                continue
            seen.add(id(referrer))
            if isinstance(referrer, tuple):
                tuples.append(referrer)
            else:
                found += _held_by(referrer, things, tensors)
        if not tuples:
            break
        things = tuples
    return found


def _held_by(holder: Any, things: list[Any], tensors: list[Tensor]) -> list[Held]:
    """`things` are the tensors, or tuples with tensors in them."""
    if isinstance(holder, (FrameType, FunctionType, type)):
        return []
    if isinstance(holder, CellType):
        name = _name_in_function(holder)  # without one it is a variable of a function that runs now, such as this one
        return [((holder, "the variable", name), _tensors_in(holder.cell_contents, tensors))] if name else []
    if isinstance(holder, dict) and _is_of_a_module(holder):
        return _named(holder, holder, "the variable", "", things, tensors)
    # An object may refer to its attributes itself or through a dict, and change that in between: it is the holder.
    owner = _owner(holder) if isinstance(holder, dict) else holder if _is_object(holder) else None
    if owner is not None:
        return _named(owner, vars(owner), "the attribute", f"{type(owner).__name__}.", things, tensors)
    if isinstance(holder, (list, deque, set, dict)):
        every = holder.values() if isinstance(holder, dict) else holder
        return [((holder, f"the {type(holder).__name__}", name_of(holder)), _tensors_in(tuple(every), tensors))]
    return []


def _named(
    holder: Any, own: dict[str, Any], kind: str, before: str, things: list[Any], tensors: list[Tensor]
) -> list[Held]:
    names = [key for key, value in own.items() if _is_one(value, things)]
    return [((holder, kind, f"{before}{key}"), _tensors_in(own[key], tensors)) for key in names]


def _is_one(value: object, things: list[Any]) -> bool:
    """A function of its own: an expression inside a caller would make its variables cells, which hold things, too."""
    return any(value is each for each in things)


def _tensors_in(value: object, tensors: list[Tensor]) -> list[Tensor]:
    if isinstance(value, tuple):
        return [found for each in value for found in _tensors_in(each, tensors)]
    return [value] if isinstance(value, Tensor) and _is_one(value, tensors) else []


def name_of(container: object, depth: int = 0) -> str:
    """How the user calls it, as far as that can be told: a variable, an attribute, or what another container has."""
    for _, name, value in _variables():
        if value is container:
            return name
    inside = ""
    for referrer in gc.get_referrers(container):
        if isinstance(referrer, CellType) and (name := _name_in_function(referrer)):
            return name
        if isinstance(referrer, dict):
            key = _key_of(referrer, container)
            if key and _is_of_a_module(referrer):
                return key
            if key and (owner := _owner(referrer)) is not None:
                return f"{type(owner).__name__}.{key}"
            holder = name_of(referrer, depth + 1) if key and depth < _DEEPEST and not inside else ""
            inside = f"{holder}[{key!r}]" if holder else inside
        elif _is_object(referrer) and (key := _key_of(vars(referrer), container)):
            return f"{type(referrer).__name__}.{key}"
    return inside


def _variables() -> Iterator[tuple[FrameType, str, Any]]:
    """Local variables of the user's functions that are running: a watched test keeps its things there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_library_file(frame.f_code.co_filename):
            for name, value in list(frame.f_locals.items()):
                yield frame, name, value
        frame = frame.f_back


def _is_of_a_module(mapping: dict[Any, Any]) -> bool:
    return "__name__" in mapping and "__builtins__" in mapping


def _owner(mapping: dict[Any, Any]) -> Any:
    """The object whose attributes these are. None for a plain dict."""
    for referrer in gc.get_referrers(mapping):
        if _is_object(referrer) and vars(referrer) is mapping:
            return referrer
    return None


def _key_of(mapping: dict[Any, Any], value: object) -> str:
    for key, each in mapping.items():
        if each is value:
            return str(key)
    return ""


def _is_object(thing: object) -> bool:
    """One of the user's, or of a library's; what we ourselves remember of a training keeps nothing alive for long."""
    if isinstance(thing, (type, ModuleType, FunctionType, Tensor)) or type(thing).__module__.startswith(_OURS):
        return False
    return hasattr(thing, "__dict__")


def _is_ours(function: FunctionType) -> bool:
    return (function.__module__ or "").startswith(_OURS)


def _name_in_function(cell: CellType) -> str:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple):
            for function in gc.get_referrers(closure):
                if isinstance(function, FunctionType) and function.__closure__ is closure and not _is_ours(function):
                    return function.__code__.co_freevars[[id(each) for each in closure].index(id(cell))]
    return ""
