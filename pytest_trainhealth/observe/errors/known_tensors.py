"""By which name the user knows a tensor: a parameter's, or its field of the batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...tensors.batches import batch_size, tensors
from ..run.run import Run


class KnownTensors:
    def __init__(self, run: Run, inputs: Any) -> None:
        """`inputs`: what the step began with; in a watched test, what its model was called with."""
        self._parameters = {id(tensor): name for name, tensor in run.parameters.items()}
        of_the_loader = [(f"batch{name}", each) for name, each in run.loader_batches.latest_named()]
        batch = getattr(run, "batch", None)
        if batch is not None:
            self._fields = [(f"batch{name}", each) for name, each in tensors(batch)]
        else:
            self._fields = of_the_loader or [("the input of the model", each) for _, each in tensors(inputs)]
        self.batch_size = batch_size([each for _, each in self._fields]) or run.trace.batch_size

    def parameter(self, tensor: Tensor) -> str:
        return self._parameters.get(id(tensor), "")

    def parameter_by_id(self, identity: int) -> str:
        return self._parameters.get(identity, "")

    def name_of(self, tensor: Tensor) -> str:
        return self.parameter(tensor) or self.field_of(tensor)

    def field_of(self, tensor: Tensor) -> str:
        """By its memory (the field itself, or a view of it), or by its values: ids are often converted or reshaped."""
        own = _memory(tensor)
        for name, field in self._fields:
            if own and _memory(field) == own:
                return name
        for name, field in self._fields:
            if field.numel() == tensor.numel() and not tensor.requires_grad and _same_values(field, tensor):
                return name
        return ""

    def holding(self, value: int) -> tuple[str, int | None]:
        """The only field of whole numbers that has this value, and the first sample there; else nothing."""
        found = []
        for name, field in self._fields:
            if field.is_floating_point() or field.is_complex() or field.is_meta or not field.ndim:
                continue
            at = (field == value).nonzero()
            if len(at):
                found.append((name, int(at[0][0])))
        return found[0] if len(found) == 1 else ("", None)


def _memory(tensor: Tensor) -> int:
    if tensor.layout != torch.strided or tensor.is_meta:
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except RuntimeError:  # a tensor without memory of its own, as inside of torch.func
        return 0


def _same_values(one: Tensor, other: Tensor) -> bool:
    if torch.strided != one.layout or torch.strided != other.layout or one.device != other.device or one.is_meta:
        return False
    if one.is_complex() or other.is_complex() or not one.numel():
        return False
    return bool((one.detach().flatten() == other.detach().flatten()).all())
