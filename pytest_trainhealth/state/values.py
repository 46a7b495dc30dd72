"""How values are written back into the same object: tensors, arrays, lists, sets and dictionaries."""

from __future__ import annotations

import types
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor

Undo = Callable[[], None]
#: Where a tensor keeps the functions that it calls with its gradient.
HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def tensor_undo(tensor: Tensor) -> Undo:
    value = None if _overlaps_itself(tensor) else tensor.detach().clone()
    leaf = tensor.is_leaf
    wants_gradient, gradient, data = tensor.requires_grad, tensor.grad if leaf else None, tensor.data
    hooks = {name: getattr(tensor, name) for name in HOOKS}

    def undo() -> None:
        for name, held in hooks.items():
            now = getattr(tensor, name)
            if now is not held:
                if now is not None:
                    now.clear()  # torch goes on looking into it
                setattr(tensor, name, held)
        if leaf:
            if not tensor.is_leaf:
                tensor.detach_()  # written to in place by something that needs gradients
            if _moved(tensor, data):
                tensor.data = data
            tensor.grad = gradient
            tensor.requires_grad_(wants_gradient)
        if value is not None and not _same(tensor, value):
            tensor.data.copy_(value)  # .data: autograd's version counter need not know of this change

    return undo


def lazy_undo(parameter: Tensor) -> Undo:
    """It has no values yet. The first data make an ordinary parameter of it, by giving it another class."""
    kind, data = type(parameter), parameter.data

    def undo() -> None:
        if type(parameter) is not kind:
            parameter.grad, parameter.data = None, data
            parameter.__class__ = kind

    return undo


def array_undo(array: np.ndarray[Any, Any]) -> Undo:
    value = array.copy()

    def undo() -> None:
        if not array.flags.writeable:  # made read-only since
            array.flags.writeable = True
        np.copyto(array, value)

    return undo


def _overlaps_itself(tensor: Tensor) -> bool:
    """Expanded tensors cannot be written to; the tensor that owns their values is remembered instead."""
    if tensor.layout != torch.strided or tensor.is_contiguous():  # nearly all
        return False
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


def _same(tensor: Tensor, value: Tensor) -> bool:
    """Avoids a write if nothing changed (NaN differs from itself, which only costs a write)."""
    return tensor.layout == torch.strided and tensor.shape == value.shape and torch.equal(tensor, value)


def _moved(tensor: Tensor, data: Tensor) -> bool:
    """Whether `.data` was replaced (by `module.to()`, for example) rather than written to."""
    if tensor.layout != torch.strided or data.layout != torch.strided:
        return False
    return tensor.data_ptr() != data.data_ptr() or tensor.shape != data.shape or tensor.dtype != data.dtype


def refill(container: Any, items: list[Any]) -> None:
    """Bypasses the methods of a subclass. Writes nothing where nothing changed: some containers cannot be resized."""
    if len(container) == len(items) and all(a is b for a, b in zip(container, items, strict=True)):
        return
    if isinstance(container, array):
        container[:] = array(container.typecode, items)
        return
    if isinstance(container, bytearray) and len(container) == len(items):
        container[:] = bytes(items)  # even while others look at it through a view
        return
    kind: Any = next(kind for kind in (list, deque, bytearray) if isinstance(container, kind))
    kind.clear(container)
    kind.extend(container, items)


def refill_set(container: set[Any], members: set[Any]) -> None:
    set.clear(container)
    set.update(container, members)


def refill_dict(mapping: dict[Any, Any], items: dict[Any, Any]) -> None:
    if list(mapping) != list(items) or any(mapping[key] is not value for key, value in items.items()):
        plain = OrderedDict if isinstance(mapping, OrderedDict) else dict  # bypasses methods of a subclass
        plain.clear(mapping)
        for key, value in items.items():
            plain.__setitem__(mapping, key, value)


def rebind(namespace: dict[str, Any], values: dict[str, Any], unbound: Iterable[str]) -> None:
    for name in unbound:
        namespace.pop(name, None)
    for name, value in values.items():
        if namespace.get(name) is not value:
            namespace[name] = value


def rebind_module(module: types.ModuleType, values: dict[str, Any]) -> None:
    """Modules that were imported meanwhile stay: nothing would import them a second time."""
    names = vars(module)
    for name in [name for name in names if name not in values and not name.startswith("__")]:
        if not isinstance(names[name], types.ModuleType):
            del names[name]
    rebind(names, values, ())


def rebind_class(kind: type, names: dict[str, Any], values: dict[str, Any]) -> None:
    """`names`: what the class holds now. Metaclasses are bypassed: an `Enum` would refuse."""
    for name in names:
        if name not in values:
            type.__delattr__(kind, name)
    for name, value in values.items():
        if name not in names or names[name] is not value:
            type.__setattr__(kind, name, value)


def context_undo(variable: ContextVar[Any]) -> Undo:
    missing = object()
    value = variable.get(missing)
    if value is missing:
        with suppress(LookupError):
            value = variable.get()  # its default

    def undo() -> None:
        if value is not missing:
            if variable.get(missing) is not value:
                variable.set(value)
        elif variable.get(missing) is not missing:
            raise RuntimeError("a context variable without a default cannot be unset")

    return undo


def class_undo(thing: Any) -> Undo:
    """Lazy layers become ordinary ones, and layers get parametrizations, by changing their class."""
    kind = type(thing)

    def undo() -> None:
        if type(thing) is not kind:
            thing.__class__ = kind

    return undo


def set_slot(thing: Any, slot: str, value: Any) -> None:
    if getattr(thing, slot, None) is not value:
        object.__setattr__(thing, slot, value)


def unset_slot(thing: Any, slot: str) -> None:
    if hasattr(thing, slot):
        object.__delattr__(thing, slot)


def slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in kind.__mro__:
        own = base.__dict__.get("__slots__", ())
        names.extend([own] if isinstance(own, str) else own)
    return [name for name in names if name not in ("__dict__", "__weakref__") and not name.startswith("__")]
