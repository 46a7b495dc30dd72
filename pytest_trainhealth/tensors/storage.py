"""Where the values of a tensor lie: views of one another, and what was detached, lie in the same place."""

from __future__ import annotations

import torch
from torch import Tensor

#: Sparse tensors have no such place. No address is below 0.
NOWHERE = -1


def memory_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else NOWHERE
