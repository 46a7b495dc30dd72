"""Remembers a training bit by bit, and restores it.

The roots are the user's model, optimizers, schedulers and step. Everything mutable that can be reached from there is
remembered: tensors by value, containers and objects by what they hold, a function's closure and the globals it
names. Restoring writes the old values into the *same* objects, so everything else that refers to them sees them
restored as well.
"""

from __future__ import annotations

import copy
import random
import sys
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import DataLoader, Dataset, Sampler

Undo = Callable[[], None]

#: Not followed any further: code, locks, files; and data sets, whose batches are remembered one by one when used.
_LEAVES = (
    str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, types.BuiltinFunctionType, torch.dtype,
    torch.device, torch.Size, range, slice, DataLoader, Dataset, Sampler, threading.Thread, types.FrameType,
)  # fmt: skip
#: Objects of these packages are never part of a training's state, and lead to everything else in the process.
_FOREIGN = (
    "_pytest",
    "pluggy",
    "logging",
    "io",
    "_io",
    "threading",
    "_thread",
    "multiprocessing",
    "concurrent",
    "socket",
)


class Snapshot:
    """The current state of everything that can be reached from the roots. `restore()` may be called many times."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._undo: list[Undo] = []
        self._seen: dict[int, Any] = {}  # keeps everything alive, so that no id is used twice
        self.one_way: list[str] = []
        todo = deque(roots)
        while todo:
            thing = todo.popleft()
            if isinstance(thing, _LEAVES) or id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            todo.extend(self._remember(thing))

    def restore(self) -> None:
        with torch.no_grad():
            for undo in self._undo:
                undo()

    def _remember(self, thing: Any) -> Iterable[Any]:
        """Notes how to restore this one object; returns the objects it holds."""
        if isinstance(thing, Tensor):
            return self._tensor(thing)
        if isinstance(thing, np.ndarray):
            return self._array(thing)
        if isinstance(thing, dict):
            return self._dict(thing)
        if isinstance(thing, (list, deque, bytearray)):
            items = list(thing)
            self._undo.append(lambda: _refill(thing, items))
            return items
        if isinstance(thing, set):
            members = set(thing)
            self._undo.append(lambda: _refill_set(thing, members))
            return members
        if isinstance(thing, (tuple, frozenset)):
            return thing
        if isinstance(thing, types.FunctionType):
            return self._function(thing)
        if isinstance(thing, types.MethodType):
            return (thing.__self__, thing.__func__)
        return self._object(thing)

    def _tensor(self, tensor: Tensor) -> Iterable[Any]:
        if is_lazy(tensor) or tensor.is_meta or tensor.is_inference():
            return ()
        value = None if _overlaps_itself(tensor) else tensor.detach().clone()
        leaf = tensor.is_leaf
        wants_gradient, gradient, data = tensor.requires_grad, tensor.grad if leaf else None, tensor.data

        def undo() -> None:
            if leaf:
                if not tensor.is_leaf:
                    tensor.detach_()  # written to in place by something that needs gradients
                if _moved(tensor, data):
                    tensor.data = data
                tensor.grad = gradient
                tensor.requires_grad_(wants_gradient)
            if value is not None and not _same(tensor, value):
                tensor.data.copy_(value)  # .data: autograd's version counter need not know of this change

        self._undo.append(undo)
        return [*vars(tensor).values(), *([] if gradient is None else [gradient])]

    def _array(self, array: np.ndarray[Any, Any]) -> Iterable[Any]:
        if array.flags.writeable:
            value = array.copy()
            self._undo.append(lambda: np.copyto(array, value))
        return ()

    def _dict(self, mapping: dict[Any, Any]) -> Iterable[Any]:
        items = dict(mapping)

        def undo() -> None:
            if list(mapping) != list(items) or any(mapping[k] is not v for k, v in items.items()):
                plain = OrderedDict if isinstance(mapping, OrderedDict) else dict  # bypasses methods of a subclass
                plain.clear(mapping)
                for key, value in items.items():
                    plain.__setitem__(mapping, key, value)

        self._undo.append(undo)
        return [*items.keys(), *items.values()]

    def _function(self, function: types.FunctionType) -> Iterable[Any]:
        held: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for cell in function.__closure__ or ():
            held.extend(self._cell(cell))
        if _written_by_user(function):
            names = [n for n in _names_used(function.__code__) if n in function.__globals__]
            values = {n: function.__globals__[n] for n in names}
            self._undo.append(lambda: _rebind(function.__globals__, values))
            held.extend(values.values())
        wrapped = getattr(function, "__wrapped__", None)
        return held if wrapped is None else [*held, wrapped]

    def _cell(self, cell: types.CellType) -> Iterable[Any]:
        try:
            content = cell.cell_contents
        except ValueError:  # a name that is not bound yet
            return ()

        def undo() -> None:
            cell.cell_contents = content

        self._undo.append(undo)
        return (content,)

    def _object(self, thing: Any) -> Iterable[Any]:
        if isinstance(thing, torch.Generator):
            state = thing.get_state()
            self._undo.append(lambda: _discard(thing.set_state(state)))
            return ()
        if isinstance(thing, random.Random):
            inner = thing.getstate()
            self._undo.append(lambda: thing.setstate(inner))
            return ()
        if isinstance(thing, np.random.Generator):
            bits = thing.bit_generator
            numpy_state = copy.deepcopy(bits.state)
            self._undo.append(lambda: setattr(bits, "state", numpy_state))
            return ()
        if isinstance(thing, np.random.RandomState):
            old = thing.get_state()
            self._undo.append(lambda: thing.set_state(old))
            return ()
        if hasattr(thing, "__next__") and hasattr(thing, "__setstate__"):  # list, tuple and range iterators
            parts = thing.__reduce__()
            if len(parts) == 3:
                self._undo.append(lambda: thing.__setstate__(parts[2]))
            return ()
        if isinstance(thing, (types.GeneratorType, types.AsyncGeneratorType)):
            self.one_way.append(f"the generator {thing.__name__}()")
            return ()
        if type(thing).__module__.partition(".")[0] in _FOREIGN:
            return ()
        state_of = getattr(thing, "__dict__", None)
        held: list[Any] = []
        if isinstance(state_of, dict):
            held.append(state_of)
        for slot in _slots(type(thing)):
            if hasattr(thing, slot):
                value = getattr(thing, slot)
                self._undo.append(lambda slot=slot, value=value: _set_slot(thing, slot, value))  # type: ignore[misc]
                held.append(value)
        if isinstance(thing, (nn.Module, torch.optim.Optimizer)) or not callable(thing):
            return held
        call = type(thing).__dict__.get("__call__")
        return [*held, call] if isinstance(call, types.FunctionType) else held


def _overlaps_itself(tensor: Tensor) -> bool:
    """Expanded tensors cannot be written to; the tensor that owns their values is remembered instead."""
    return any(stride == 0 and size > 1 for stride, size in zip(_strides(tensor), tensor.shape, strict=False))


def _strides(tensor: Tensor) -> tuple[int, ...]:
    return tensor.stride() if tensor.layout == torch.strided else ()


def _same(tensor: Tensor, value: Tensor) -> bool:
    """Avoids a write if nothing changed (NaN differs from itself, which only costs a write)."""
    return tensor.layout == torch.strided and tensor.shape == value.shape and torch.equal(tensor, value)


def _moved(tensor: Tensor, data: Tensor) -> bool:
    """Whether `.data` was replaced (by `module.to()`, for example) rather than written to."""
    if tensor.layout != torch.strided or data.layout != torch.strided:
        return False
    return tensor.data_ptr() != data.data_ptr() or tensor.shape != data.shape or tensor.dtype != data.dtype


def _refill(container: Any, items: list[Any]) -> None:
    container.clear()
    container.extend(items)


def _refill_set(container: set[Any], members: set[Any]) -> None:
    container.clear()
    container.update(members)


def _rebind(namespace: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if namespace.get(name) is not value:
            namespace[name] = value


def _discard(_: Any) -> None:
    return None


def _set_slot(thing: Any, slot: str, value: Any) -> None:
    if getattr(thing, slot, None) is not value:
        object.__setattr__(thing, slot, value)


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names.extend([slots] if isinstance(slots, str) else slots)
    return [name for name in names if name not in ("__dict__", "__weakref__") and not name.startswith("__")]


def _written_by_user(function: types.FunctionType) -> bool:
    """Globals of a library are not the training's state (and far too many)."""
    module = sys.modules.get(function.__module__ or "")
    file = getattr(module, "__file__", None) or function.__code__.co_filename
    return "site-packages" not in file and not file.startswith(_STANDARD_LIBRARY)


_STANDARD_LIBRARY = copy.__file__.rsplit("copy.py", 1)[0]


def _names_used(code: types.CodeType) -> list[str]:
    """Global names used by a function and by the functions defined inside it."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*code.co_names, *(name for c in inner for name in _names_used(c))]
