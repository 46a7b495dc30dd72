"""Whether the rows of an output belong to the rows of the input. If they may not, their order proves nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....tensors.batches import tensors

#: Functions with which a model may reorder its samples.
_REORDER = {"sort", "argsort", "topk", "randperm", "shuffle", "sorted"}


def keeps_order(model: nn.Module) -> bool:
    """No part of the model calls a function, by name, that might reorder samples."""
    for module in model.modules():
        code = getattr(getattr(type(module), "forward", None), "__code__", None)
        if code is None or _REORDER.intersection(code.co_names):
            return False
    return True


def holds_order(values: Any) -> bool:
    """Among the values is a permutation, which can restore the order of rows."""
    return any(_is_order(tensor) for _, tensor in tensors(values))


def _is_order(tensor: Tensor) -> bool:
    whole = tensor.ndim == 1 and not tensor.is_floating_point() and not tensor.is_complex()
    if not whole or tensor.dtype == torch.bool or tensor.layout != torch.strided:
        return False
    return torch.equal(tensor.sort()[0], torch.arange(len(tensor), device=tensor.device).to(tensor))


def same_rows(output: Any, values: Tensor, rows: int) -> bool:
    """The values are the model's output, row by row."""
    found = next((t for _, t in tensors(output) if t.ndim and len(t) == rows), None)
    if found is None or found.numel() != values.numel() or len(values) != rows:
        return False
    return torch.equal(found.detach().flatten(), values.detach().flatten())
