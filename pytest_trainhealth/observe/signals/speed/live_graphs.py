"""Tensors with a graph that outlive their step, and what holds them.

The tensors are found through Python's garbage collector. What they keep alive (the activations of the whole forward
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

from ...source.authorship import is_library_file

#: Most nodes counted at a time. By judgement: what is kept by mistake shows long before 50,000.
_MOST_NODES = 50_000
_OURS = __name__.partition(".")[0]
#: Levels of tuples in tuples, dicts in lists. By judgement: nobody keeps a loss deeper than 3.
_DEEPEST = 3
_CONTAINERS = (list, deque, set, dict)
#: An object, what kind of thing it is to the user, and its name. For a container that takes time to find: `name_of`.
Holder = tuple[Any, str, str]
Held = tuple[Holder, list[Tensor]]


def with_graph() -> list[Tensor]:
    """All tensors that have a graph now."""
    return [thing for thing in gc.get_objects() if _is_tensor(type(thing)) and _has_graph(thing)]


class Since:
    """Tensors that did not exist when this was made. They are recognised by id, which is reused once one is gone."""

    def __init__(self) -> None:
        self._before = {id(tensor): ref(tensor) for tensor in with_graph()}

    def with_graph(self) -> list[Tensor]:
        return [tensor for tensor in with_graph() if not self._was_there(tensor)]

    def _was_there(self, tensor: Tensor) -> bool:
        known = self._before.get(id(tensor))
        return known is not None and known() is tensor


def _is_tensor(kind: type) -> bool:
    """Decided by the type: a proxy object would answer for another. What the compiler keeps for itself is left out."""
    return issubclass(kind, Tensor) and not kind.__module__.startswith("torch._")


def _has_graph(tensor: Tensor) -> bool:
    try:
        return tensor.grad_fn is not None
    except RuntimeError:  # a view whose base was written to raises on reading its graph
        return False


def nodes_of(tensors: Iterable[Tensor]) -> int:
    """How many nodes their graphs have, each counted once."""
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
    """What keeps tensors alive, and which of them. A tuple is held by something else in turn; a container may be."""
    found = [((frame, "the variable", name), [value]) for frame, name, value in _variables() if _is_one(value, tensors)]
    things: list[Any] = tensors
    seen = {id(tensors), id(found), *(id(frame.f_locals) for frame in _running())}
    for _ in range(_DEEPEST):
        inner: list[Any] = []
        referrers = gc.get_referrers(*things)
        seen |= {id(things), id(inner), id(referrers)}
        owners = _owners([each for each in referrers if isinstance(each, dict) and id(each) not in seen])
        for referrer in referrers:
            if id(referrer) in seen:
                continue
            seen.add(id(referrer))
            if isinstance(referrer, tuple):
                inner.append(referrer)
                continue
            held = _held_by(referrer, owners.get(id(referrer)), things, tensors)
            if held and held[0][0][0] is referrer and isinstance(referrer, _CONTAINERS):
                inner.append(referrer)
            # an object that only holds a known container is not another holder
            found += held if things is tensors else [each for each in held if not _is_known(each, found)]
        if not inner:
            break
        things = inner
    return found


def _is_known(held: Held, found: list[Held]) -> bool:
    own = {id(tensor) for tensor in held[1]}
    return any(own == {id(tensor) for tensor in known} for _, known in found)


def _held_by(holder: Any, owner: Any, things: list[Any], tensors: list[Tensor]) -> list[Held]:
    """`things` are the tensors, or tuples and containers with tensors in them."""
    if isinstance(holder, (FrameType, FunctionType, type)):
        return []
    if isinstance(holder, CellType):
        name = _name_in_function(holder)  # no name: a variable of a running function, such as this one
        return [((holder, "the variable", name), _tensors_in(holder.cell_contents, tensors))] if name else []
    if isinstance(holder, dict) and _is_of_a_module(holder):
        return _named(holder, holder, "the variable", "", things, tensors)
    # An object may refer to its attributes directly or through a dict, and switch between the two: the object counts.
    owner = owner if isinstance(holder, dict) else holder if _is_object(holder) else None
    if owner is not None:
        return _named(owner, vars(owner), "the attribute", f"{type(owner).__name__}.", things, tensors)
    if isinstance(holder, _CONTAINERS):
        return [((holder, f"the {type(holder).__name__}", ""), _tensors_in(holder, tensors))]
    return []


def _named(
    holder: Any, own: dict[str, Any], kind: str, before: str, things: list[Any], tensors: list[Tensor]
) -> list[Held]:
    names = [key for key, value in own.items() if _is_one(value, things)]
    return [((holder, kind, f"{before}{key}"), _tensors_in(own[key], tensors)) for key in names]


def _is_one(value: object, things: list[Any]) -> bool:
    """A separate function: a comprehension in a caller would turn its variables into cells, which hold things, too."""
    return any(value is each for each in things)


def _tensors_in(value: object, tensors: list[Tensor], depth: int = 0) -> list[Tensor]:
    if isinstance(value, (tuple, *_CONTAINERS)):
        every = value.values() if isinstance(value, dict) else value
        inside = depth <= _DEEPEST  # a container may contain itself
        return [found for each in tuple(every) for found in _tensors_in(each, tensors, depth + 1)] if inside else []
    return [value] if isinstance(value, Tensor) and _is_one(value, tensors) else []


def name_of(container: object, depth: int = 0) -> str:
    """The user's name for it, if it can be found: a variable, an attribute, or an item of another container."""
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
            if key and (owner := _owners([referrer]).get(id(referrer))) is not None:
                return f"{type(owner).__name__}.{key}"
            holder = name_of(referrer, depth + 1) if key and depth < _DEEPEST and not inside else ""
            inside = f"{holder}[{key!r}]" if holder else inside
        elif _is_object(referrer) and (key := _key_of(vars(referrer), container)):
            return f"{type(referrer).__name__}.{key}"
    return inside


def _variables() -> Iterator[tuple[FrameType, str, Any]]:
    """Local variables of the user's running functions: a watched test keeps its objects there."""
    for frame in _running():
        for name, value in list(frame.f_locals.items()):
            yield frame, name, value


def _running() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_library_file(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _is_of_a_module(mapping: dict[Any, Any]) -> bool:
    return "__name__" in mapping and "__builtins__" in mapping


def _owners(mappings: list[dict[Any, Any]]) -> dict[int, Any]:
    """The objects whose attributes these mappings hold, by the mapping's id. Plain dicts have none."""
    known = {id(mapping) for mapping in mappings}
    objects = [each for each in gc.get_referrers(*mappings) if _is_object(each)] if mappings else []
    return {id(vars(each)): each for each in objects if id(vars(each)) in known}


def _key_of(mapping: dict[Any, Any], value: object) -> str:
    for key, each in mapping.items():
        if each is value:
            return str(key)
    return ""


def _is_object(thing: object) -> bool:
    """An object of the user or of a library; our own records of a training keep nothing alive for long."""
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
