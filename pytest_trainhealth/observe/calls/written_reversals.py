"""A gradient reversal written as arithmetic: `2 * x.detach() - x` is x, and its gradient is turned round."""

from __future__ import annotations

import torch
from torch import Tensor

from .torch_calls import Call

#: Cosine between what is passed on and its only part that has a graph. By judgement: exactly -1 but for rounding.
_OPPOSITE = -0.999
#: Fewer values may be opposite by chance. By judgement: 8.
_FEWEST = 8


def turns_its_gradient(call: Call) -> bool:
    """For a sum or difference of which one side has a graph: what is passed on points the opposite way of that side."""
    if call.name not in ("add", "sub") or len(call.args) < 2 or call.kwargs:
        return False
    first, second = call.args[:2]
    if not isinstance(second, Tensor) or first.shape != second.shape or first.requires_grad == second.requires_grad:
        return False
    if first.numel() < _FEWEST or not call.result.is_floating_point() or call.result.layout != torch.strided:
        return False
    part = first if first.requires_grad else second if call.name == "add" else -second
    cosine = torch.nn.functional.cosine_similarity(call.result.flatten().double(), part.flatten().double(), dim=0)
    return float(cosine) <= _OPPOSITE
