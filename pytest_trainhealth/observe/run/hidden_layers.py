"""What a module keeps and `parameters()` does not include: layers in a plain list, tuple or dict, and plain tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ...tensors.module_paths import full_path
from ..source.authorship import package_of

#: A single module in a list is hidden on purpose: a teacher or a feature network that should not be saved. By
#: judgement: two or more are a list of layers.
_SEVERAL = 2


def unregistered(model: nn.Module) -> Iterator[tuple[str, str, nn.Module | None, Tensor]]:
    """Name, attribute that holds it, module (None for a bare Parameter or a plain tensor), and the parameter.

    Only modules in training mode: one that is kept as a teacher or for its features is in eval mode.
    """
    known = {id(each) for each in (*model.modules(), *model.parameters())}
    for path, module in model.named_modules():
        if package_of(type(module)) != "user":
            continue
        for attribute, held in vars(module).items():
            if attribute.startswith("__") or attribute in ("_modules", "_parameters", "_buffers"):
                continue
            store = full_path(path, attribute)
            if _is_plain_tensor(held) and id(held) not in known:
                known.add(id(held))
                yield store, store, None, held
                continue
            members = [(key, each) for key, each in _members(held) if id(each) not in known]
            if len(members) < _SEVERAL:
                continue
            for key, each in members:
                for name, owner, parameter in _parameters(each):
                    if id(parameter) not in known and not is_lazy(parameter):
                        known.add(id(parameter))
                        yield f"{store}.{key}.{name}".rstrip("."), store, owner, parameter


def _is_plain_tensor(held: Any) -> bool:
    """A tensor that gradients are collected for; the result of a computation, or an input, has no place here."""
    return isinstance(held, Tensor) and held.is_leaf and held.requires_grad


def _members(held: Any) -> list[tuple[str, Any]]:
    if type(held) in (list, tuple):
        pairs = [(str(index), each) for index, each in enumerate(held)]
    elif type(held) is dict:
        pairs = [(str(key), each) for key, each in held.items()]
    else:
        return []
    if not pairs or not all(isinstance(each, (nn.Module, nn.Parameter)) for _, each in pairs):
        return []
    return pairs


def _parameters(each: Any) -> Iterator[tuple[str, nn.Module | None, nn.Parameter]]:
    if isinstance(each, nn.Parameter):
        yield "", None, each
        return
    for path, module in each.named_modules():
        if module.training:
            for name, parameter in module.named_parameters(recurse=False):
                yield full_path(path, name), module, parameter
