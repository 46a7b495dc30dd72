"""Sizes of many tensors at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .function_modes import unseen


@unseen
def norms(tensors: Sequence[Tensor]) -> list[float]:
    """The 2-norm of each tensor. One fused call if torch has one; sparse and other unusual tensors one by one."""
    if not tensors:
        return []
    plain = all(t.layout == torch.strided and t.is_floating_point() for t in tensors)
    with torch.no_grad():
        if plain and len({t.device for t in tensors}) == 1:
            each = torch._foreach_norm([t.detach() for t in tensors])
            return torch.stack([n.float() for n in each]).tolist()
        return [_norm(t.detach()) for t in tensors]


def _norm(tensor: Tensor) -> float:
    if tensor.layout != torch.strided:
        tensor = tensor.coalesce().values() if tensor.is_sparse else tensor.to_dense()
    if tensor.numel() == 0:
        return 0.0
    if not tensor.is_floating_point() and not tensor.is_complex():
        tensor = tensor.double()
    return float(torch.linalg.vector_norm(tensor))


@unseen
def root_mean_square(tensors: Iterable[Tensor]) -> float:
    """Over all values of all tensors; 0 if there are none."""
    kept = list(tensors)
    size = sum(t.numel() for t in kept)
    return (sum(n * n for n in norms(kept)) / size) ** 0.5 if size else 0.0
