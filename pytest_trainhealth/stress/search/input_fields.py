"""Which fields of a batch are inputs: those that reach a model. The batch itself does not say what is a target."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ...tensors.batches import is_input_name, tensors


def same_values(batch: Any) -> dict[str, str]:
    """Maps each field that may be moved to the first field with the same values, mostly itself."""
    found: dict[str, str] = {}
    usable = {name: t for name, t in tensors(batch) if t.is_floating_point() and t.layout == torch.strided and t.ndim}
    for name, tensor in usable.items():
        if tensor.numel() and is_input_name(name):
            same = (first for first in found.values() if torch.equal(usable[first], tensor))
            found[name] = next(same, name)
    return found


def called_models(model: nn.Module) -> Iterator[nn.Module]:
    """The model, or the models inside it if it is only a container (`nn.ModuleDict`) and cannot be called."""
    if type(model).forward is nn.Module.forward:
        for part in model.children():
            yield from called_models(part)
    else:
        yield model


def note_inputs(leaves: Mapping[str, Tensor], reached: set[str]) -> Any:
    """A hook that notes which leaves a model's arguments come from. A field that only the loss sees is a target."""

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names = [*inspect.signature(module.forward).parameters]
        given = {**{names[i] if i < len(names) else "": value for i, value in enumerate(args)}, **kwargs}
        for argument, value in given.items():
            for name, tensor in tensors(value):
                if argument != "y" and is_input_name(argument + name):
                    reached.update(_made_of(tensor, leaves))

    return before


def _made_of(tensor: Tensor, leaves: Mapping[str, Tensor]) -> set[str]:
    names = {id(leaf): name for name, leaf in leaves.items()}
    found: set[str] = set()
    known, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in known:
            continue
        known.add(node)
        leaf = id(getattr(node, "variable", None))
        if leaf in names:
            found.add(names[leaf])
        todo += [following for following, _ in node.next_functions]
    return found
