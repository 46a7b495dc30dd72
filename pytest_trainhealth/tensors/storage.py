"""The address of a tensor's values: views of a tensor, and its detached version, have the same."""

from __future__ import annotations

import torch
from torch import Tensor

#: For tensors that have no such address: sparse ones, and those without values. No address is below 0.
NOWHERE = -1


def memory_of(tensor: Tensor) -> int:
    if tensor.layout != torch.strided or tensor.is_meta:
        return NOWHERE
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a class of tensors that keeps its values in others
        return NOWHERE
