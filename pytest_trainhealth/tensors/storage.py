"""The address of a tensor's values: views of a tensor, and its detached version, have the same."""

from __future__ import annotations

import torch
from torch import Tensor

#: For sparse tensors, which have no such address. No address is below 0.
NOWHERE = -1


def memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else NOWHERE
