"""What a training carries from one step to the next, part by part: what a checkpoint has to hold.

A part can be read as a copy and written again, into the same training or into one that was built anew.
"""

from __future__ import annotations

import copy
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..tensors.batches import tensors
from ..tensors.fingerprint import NoFingerprint, fingerprint
from ..tensors.module_paths import full_path
from .generator_states import GENERATORS, set_shared_state, set_state, shared_state, state_of
from .user_code import names_used, written_by_user

#: What `nn.Module` itself keeps in its `__dict__`.
_OF_MODULES = frozenset({"training", "call_super_init", "dump_patches", *vars(nn.Module())})
_OF_OPTIMIZERS = frozenset({"state", "param_groups", "defaults"})
#: How far functions, and objects of the user's classes, are followed. By judgement: a step that is a method of a
#: trainer whose helper holds the counter takes 3.
_DEEPEST = 3


class Part(NamedTuple):
    #: "weights", "buffers", "attributes", "optimizer", "scheduler", "scaler", "left out", "random numbers", "loop",
    #: "data". Left out: attributes of whatever has a `state_dict()` of the user's, which need not hold them.
    kind: str
    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]

    def print(self) -> str:
        try:
            return fingerprint(self.read())
        except NoFingerprint as error:
            return f"a {error}"


def parts_of(training: Any) -> dict[str, Part]:
    """By kind and name. `training` is a `Training`."""
    found: dict[str, Part] = {}
    for prefix, module in training.modules.items():
        for part in _of_module(prefix, module):
            found.setdefault(f"{part.kind} {part.name}", part)
    known = {id(each) for each in (*training.modules.values(), *training.optimizers.values(), *training.schedulers)}
    for label, optimizer in training.optimizers.items():
        found[f"optimizer {label}"] = _with_state_dict("optimizer", label, optimizer)
        found.update((f"left out {part.name}", part) for part in _left_out(label, optimizer))
    for scheduler in training.schedulers:
        if _has_state_dict(scheduler):
            name = type(scheduler).__name__
            found[f"scheduler {name}"] = _with_state_dict("scheduler", name, scheduler)
            found.update((f"left out {part.name}", part) for part in _left_out(name, scheduler))
    if _has_state_dict(training.data):
        name = type(training.data).__name__
        found[f"data {name}"] = _with_state_dict("data", name, training.data)
    for root in (training.step, training.loss, training.criterion):
        for part in _of_loop(root, known):
            found.setdefault(f"{part.kind} {part.name}", part)
    found["random numbers "] = Part("random numbers", "torch, numpy and Python", shared_state, set_shared_state)
    return found


def attributes_of(module: nn.Module) -> dict[str, Any]:
    """What a module keeps that no `state_dict()` holds, as far as it can be copied: numbers, tensors, containers."""
    found: dict[str, Any] = {}
    if isinstance(module, torch.jit.ScriptModule):  # what it keeps lies in C++
        return found
    for name, value in vars(module).items():
        if name in _OF_MODULES:
            continue
        if _is_plain(value):
            found[name] = value
    for name in module._non_persistent_buffers_set:
        if module._buffers.get(name) is not None:
            found[name] = module._buffers[name]
    return found


def settings_of(optimizer: Optimizer) -> dict[str, Any]:
    """The same of an optimizer of one's own: a counter beside its `state`."""
    own = {name: value for name, value in vars(optimizer).items() if name not in _OF_OPTIMIZERS}
    return {name: value for name, value in own.items() if not name.startswith("_") and _is_plain(value)}


def copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, GENERATORS):
        return state_of(value)
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(copied(each) for each in value)
    return copy.deepcopy(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, GENERATORS):
        return True
    if isinstance(value, deque):
        value = list(value)
    try:
        fingerprint(value)
    except (NoFingerprint, RuntimeError):
        return False
    return not any(isinstance(each, nn.Parameter) for _, each in tensors(value))


def _of_module(prefix: str, module: nn.Module) -> Iterator[Part]:
    for name, parameter in module.named_parameters():
        yield Part("weights", full_path(prefix, name), *_tensor(parameter))
    for path, each in module.named_modules():
        for name, buffer in each.named_buffers(recurse=False):
            access = _tensor(buffer) if isinstance(each, torch.jit.ScriptModule) else _slot(each._buffers, name)
            yield Part("buffers", full_path(prefix, full_path(path, name)), *access)
        for name in attributes_of(each):
            if name not in each._buffers:
                yield Part("attributes", full_path(prefix, full_path(path, name)), *_slot(vars(each), name))


def _tensor(tensor: Tensor) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    def write(value: Tensor) -> None:
        with torch.no_grad():
            tensor.copy_(value)

    return lambda: tensor.detach().clone(), write


def _slot(names: dict[str, Any], name: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    def write(value: Any) -> None:
        now = names.get(name)
        if isinstance(now, GENERATORS):
            set_state(now, value)
        else:
            names[name] = copied(value)

    return lambda: copied(names.get(name)), write


def _cell(cell: types.CellType) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    def write(value: Any) -> None:
        now = cell.cell_contents
        if isinstance(now, GENERATORS):
            set_state(now, value)
        elif isinstance(now, list) and isinstance(value, list):
            now[:] = copied(value)
        elif isinstance(now, dict) and isinstance(value, dict):
            now.clear()
            now.update(copied(value))
        elif isinstance(now, Tensor) and isinstance(value, Tensor) and now.shape == value.shape:
            with torch.no_grad():
                now.copy_(value)
        else:
            cell.cell_contents = copied(value)

    return lambda: copied(cell.cell_contents), write


def _has_state_dict(thing: Any) -> bool:
    return callable(getattr(thing, "state_dict", None)) and callable(getattr(thing, "load_state_dict", None))


def _with_state_dict(kind: str, name: str, thing: Any) -> Part:
    return Part(
        kind,
        name,
        lambda: copy.deepcopy(thing.state_dict()),
        lambda value: thing.load_state_dict(copy.deepcopy(value)),
    )


def _left_out(name: str, thing: Any) -> Iterator[Part]:
    """What an object of the user's class keeps beside what its `state_dict()` may get from somebody else: the slow
    weights of a Lookahead around another optimizer, say. A module has parts of its own for that."""
    if isinstance(thing, nn.Module) or not hasattr(thing, "__dict__") or not written_by_user(type(thing)):
        return
    for key, value in list(vars(thing).items()):
        if key not in _of_torch() and _is_plain(value):
            yield Part("left out", full_path(name, key), *_slot(vars(thing), key))


@cache
def _of_torch() -> frozenset[str]:
    """What torch's own optimizers and schedulers keep, and a profiler or a scheduler notes in them."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True, device="cpu")])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    return frozenset({*vars(optimizer), *vars(scheduler), *_OF_OPTIMIZERS})


def _kind_of(thing: Any) -> str:
    name = type(thing).__name__
    if isinstance(thing, Optimizer):
        return "optimizer"
    if isinstance(thing, torch.optim.lr_scheduler.LRScheduler) or hasattr(thing, "get_last_lr"):
        return "scheduler"
    return "scaler" if "Scaler" in name and hasattr(thing, "update") else "loop"


def _of_loop(root: Any, known: set[int], depth: int = 0, path: str = "") -> Iterator[Part]:
    """What the user's function refers to: its closure, the globals it names, and the object that it is a method of.

    `path` leads to an object that is held by another one, or by a name: two of a kind keep the same attributes.
    """
    if root is None or id(root) in known or depth > _DEEPEST:
        return
    known.add(id(root))
    if isinstance(root, types.MethodType):
        yield from _of_loop(root.__func__, known, depth)
        yield from _of_loop(root.__self__, known, depth, path)
    elif isinstance(root, types.FunctionType):
        if not written_by_user(root):
            return
        for name, cell in zip(root.__code__.co_freevars, root.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # a name that is not bound yet
                continue
            yield from _named(name, value, _cell(cell), known, depth)
        there = root.__globals__
        for name in names_used(root.__code__):
            if name in there and not name.isupper():
                yield from _named(name, there[name], _slot(there, name), known, depth)
    elif _is_of_the_user(root):
        for name, value in list(vars(root).items()):
            yield from _named(full_path(path, name), value, _slot(vars(root), name), known, depth)


def _named(
    name: str, value: Any, access: tuple[Callable[[], Any], Callable[[Any], Any]], known: set[int], depth: int
) -> Iterator[Part]:
    if id(value) in known and not isinstance(value, (int, float, str, bool)):
        return
    if _has_state_dict(value) and not isinstance(value, type):
        known.add(id(value))
        yield _with_state_dict(_kind_of(value), name, value)
        yield from _left_out(name, value)
    elif callable(value) or _is_of_the_user(value):
        yield from _of_loop(value, known, depth + 1, name if _is_of_the_user(value) else "")
    elif not isinstance(value, types.ModuleType) and _is_plain(value):
        yield Part("loop", name, *access)


def _is_of_the_user(thing: Any) -> bool:
    """Also one that can be called, as what weighs losses often is: it keeps attributes all the same."""
    plain = hasattr(thing, "__dict__") and not isinstance(thing, (type, nn.Module, types.ModuleType, Tensor))
    return plain and written_by_user(type(thing))
