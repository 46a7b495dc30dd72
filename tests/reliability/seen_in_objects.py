"""What can be seen of objects: everything that is reached from them, spelt out path by path.

Written without the package's own snapshot, so that what that overlooks is seen here. Tensors are compared bit by bit,
with their gradients, hooks, shapes and places in memory; objects by identity, kind and all that they hold.
"""

from __future__ import annotations

import collections
import functools
import random
import re
import types
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

_VALUES = (str, bytes, int, float, complex, bool, type(None), range, slice, torch.dtype, torch.device, torch.Size)
#: Leads to everything in the process.
_NOT_FOLLOWED = ("_pytest", "hypothesis", "logging", "_thread", "threading", "multiprocessing", "weakref")
_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def seen_in_objects(roots: dict[str, Any], *, identity: bool = True) -> dict[str, Any]:
    """By path. Without `identity`, the same for a twin: an object made in the same way."""
    walk = _Walk(identity)
    for name, root in roots.items():
        walk.enter(name, root)
    return walk.found


class _Walk:
    def __init__(self, identity: bool) -> None:
        self.found: dict[str, Any] = {}
        self._identity = identity
        self._known: dict[int, tuple[int, Any]] = {}

    def enter(self, path: str, thing: Any) -> None:
        if isinstance(thing, _VALUES):
            self.found[path] = (type(thing).__name__, repr(thing))
            return
        first = id(thing) not in self._known
        if first:
            self._known[id(thing)] = (len(self._known), thing)
        who = id(thing) if self._identity else self._known[id(thing)][0]
        self.found[path] = (f"{type(thing).__module__}.{type(thing).__qualname__}", who)
        if first:
            self._look(path, thing)

    def _look(self, path: str, thing: Any) -> None:
        if isinstance(thing, torch.Tensor):
            self._tensor(path, thing)
        elif isinstance(thing, np.ndarray):
            self.found[f"{path} values"] = (thing.dtype.str, thing.shape, thing.tobytes(), thing.flags.writeable)
        elif isinstance(thing, (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)):
            self.found[f"{path} state"] = _state(thing)
        elif isinstance(thing, dict):
            numbered = "hooks" in path and not self._identity  # hooks are counted through the whole process
            self.found[f"{path} keys"] = len(thing) if numbered else [self._key(key) for key in thing]
            for place, (key, value) in enumerate(list(thing.items())):
                plain = isinstance(key, (str, int)) and not numbered
                self.enter(f"{path}[{key!r}]" if plain else f"{path}[{place}th]", value)
        elif isinstance(thing, (list, tuple, collections.deque)):
            self.found[f"{path} length"] = len(thing)
            for place, value in enumerate(thing):
                self.enter(f"{path}[{place}]", value)
        elif isinstance(thing, (set, frozenset)):
            self.found[f"{path} members"] = sorted(repr(each) for each in thing)
        elif isinstance(thing, types.FunctionType):
            self._function(path, thing)
        elif isinstance(thing, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
            if not isinstance(thing.__self__, (types.ModuleType, type)):
                self.enter(f"{path}.__self__", thing.__self__)
        elif isinstance(thing, types.GeneratorType):
            self._generator(path, thing)
        elif isinstance(thing, type):
            self._class(path, thing)
        else:
            self._object(path, thing)

    def _key(self, key: Any) -> str:
        return repr(key) if isinstance(key, _VALUES) else f"{type(key).__name__} {id(key) if self._identity else ''}"

    def _tensor(self, path: str, tensor: torch.Tensor) -> None:
        if nn.parameter.is_lazy(tensor):
            self._attributes(path, tensor)
            return
        self.found[f"{path} values"] = _bits(tensor)
        strided = tensor.layout == torch.strided
        place = tensor.data_ptr() if self._identity and strided else 0
        self.found[f"{path} form"] = (
            str(tensor.dtype), tuple(tensor.shape), tensor.stride() if strided else (), place, str(tensor.device),
        )  # fmt: skip
        self.found[f"{path} autograd"] = (tensor.requires_grad, tensor.is_leaf, tensor.is_inference())
        if tensor.is_leaf:
            self.enter(f"{path}.grad", tensor.grad)
        for name in _HOOKS:
            self.enter(f"{path}.{name}", getattr(tensor, name, None))
        self._attributes(path, tensor)

    def _function(self, path: str, function: types.FunctionType) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.enter(f"{path}.{name}", cell.cell_contents)
            except ValueError:
                self.found[f"{path}.{name}"] = "not bound"
        self.enter(f"{path}.__defaults__", function.__defaults__)
        self.enter(f"{path}.__kwdefaults__", function.__kwdefaults__)
        self._attributes(path, function)

    def _generator(self, path: str, generator: types.GeneratorType[Any, Any, Any]) -> None:
        frame = generator.gi_frame
        self.found[f"{path} position"] = None if frame is None else frame.f_lasti
        for name, value in ({} if frame is None else frame.f_locals).items():
            self.enter(f"{path} local {name}", value)

    def _class(self, path: str, kind: type) -> None:
        if kind.__module__.startswith("tests."):
            held = {name: value for name, value in vars(kind).items() if not name.startswith(("__", "_abc_"))}
            self.found[f"{path} names"] = sorted(held)
            for name, value in held.items():
                if not isinstance(value, (types.FunctionType, property, staticmethod, classmethod)):
                    self.enter(f"{path}.{name}", value)

    def _object(self, path: str, thing: Any) -> None:
        if isinstance(thing, types.ModuleType) or type(thing).__module__.partition(".")[0] in _NOT_FOLLOWED:
            return
        if isinstance(thing, RemovableHandle) and not self._identity:
            return
        if isinstance(thing, functools.partial):
            for name in ("func", "args", "keywords"):
                self.enter(f"{path}.{name}", getattr(thing, name))
        if hasattr(type(thing), "__next__") and not hasattr(thing, "__dict__"):
            self.found[f"{path} position"] = _iterator_position(thing)
        if isinstance(thing, nn.Module):
            self.found[f"{path} mode"] = thing.training
        if isinstance(thing, bytearray) or type(thing).__name__ == "array":
            self.found[f"{path} values"] = bytes(thing)
        for kind in type(thing).__mro__:
            own = kind.__dict__.get("__slots__", ())
            for slot in (own,) if isinstance(own, str) else own:
                if not slot.startswith("__") and hasattr(thing, slot):
                    self.enter(f"{path}.{slot}", getattr(thing, slot))
        self._attributes(path, thing)
        self.enter(f"{path} class", type(thing))

    def _attributes(self, path: str, thing: Any) -> None:
        held = getattr(thing, "__dict__", None)
        if isinstance(held, dict):
            self.found[f"{path} attributes"] = list(held)
            for name, value in list(held.items()):
                self.enter(f"{path}.{name}", value)


def _bits(tensor: torch.Tensor) -> Any:
    if tensor.is_meta:
        return "no values"
    plain = tensor.detach()
    if tensor.layout != torch.strided:
        plain = plain.to_dense()
    return plain.resolve_conj().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _state(source: Any) -> Any:
    if isinstance(source, torch.Generator):
        return source.get_state().numpy().tobytes()
    if isinstance(source, random.Random):
        return source.getstate()
    return repr(source.bit_generator.state if isinstance(source, np.random.Generator) else source.get_state())


def _iterator_position(thing: Any) -> str:
    try:
        return re.sub(r" at 0x\w+", "", repr(thing.__reduce__()[1:]))[:2000]
    except TypeError:
        return re.sub(r" at 0x\w+", "", repr(thing))
