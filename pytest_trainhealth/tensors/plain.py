"""Tensors that can be kept, compared and put back: their values lie in memory of their own that may be written to.

What is only read may be more: a tensor made in inference mode, for one, has values like any other.
"""

from __future__ import annotations

import torch
from torch import Tensor


def is_plain(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_inference()


def is_given(tensor: Tensor) -> bool:
    """Plain, and data: with values in it, and not computed with weights."""
    return is_plain(tensor) and tensor.numel() > 0 and not tensor.requires_grad
