"""Parameters outside of the model: of a loss, of a head that the step calls, tensors in a function's variables.

Searched are the loss, the criterion and the step: a module is one itself, a function has variables of its surroundings,
a method has its object. Only what can learn is of interest, and what is meant to: a module in eval mode is a teacher, a
plain tensor that no optimizer holds is an input (the points of a physics-informed network).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ...tensors.module_paths import full_path

Found = tuple[str, nn.Module | None, Tensor]


def outside_parameters(roots: list[Any], held: Callable[[Tensor], bool]) -> Iterator[Found]:
    """Name, module and tensor. `held`: whether an optimizer holds it."""
    for root in roots:
        if isinstance(root, nn.Module):
            yield from _of_module("criterion", root, held)
        for name, value in _variables(root):
            for key, each in _members(name, value):
                if isinstance(each, nn.Module):
                    yield from _of_module(key, each, held)
                elif _can_learn(each) and (held(each) or isinstance(each, nn.Parameter)):
                    yield key, None, each


def _can_learn(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_leaf and value.requires_grad


def _of_module(name: str, module: nn.Module, held: Callable[[Tensor], bool]) -> Iterator[Found]:
    for path, part in module.named_modules():
        for key, parameter in part.named_parameters(recurse=False):
            if parameter.requires_grad and not is_lazy(parameter) and (part.training or held(parameter)):
                yield full_path(name, path, key), part, parameter


def _variables(function: Any) -> Iterator[tuple[str, Any]]:
    """The objects that a function knows by name without being given them."""
    if isinstance(function, partial):
        yield from function.keywords.items()
        yield from _variables(function.func)
    elif isinstance(function, MethodType):
        if not isinstance(function.__self__, nn.Module):
            yield from vars(function.__self__).items() if hasattr(function.__self__, "__dict__") else ()
        yield from _variables(function.__func__)
    elif isinstance(function, FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        for name in function.__code__.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) in (list, tuple):
        yield from ((f"{name}.{index}", each) for index, each in enumerate(value))
    elif type(value) is dict:
        yield from ((f"{name}.{key}", each) for key, each in value.items())
    else:
        yield name, value
