"""Sizes of many tensors at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .function_modes import unseen
from .readable import Unreadable, is_ordinary, values_of


@unseen
def norms(tensors: Sequence[Tensor]) -> list[float]:
    """The 2-norm of each tensor. One fused call if torch has one; sparse and other unusual tensors one by one.

    Raises `Unreadable` for a tensor without values, or with values that only its own class can read.
    """
    if not tensors:
        return []
    plain = all(t.layout == torch.strided and t.is_floating_point() and is_ordinary(t) for t in tensors)
    with torch.no_grad():
        if plain and len({t.device for t in tensors}) == 1 and min(t.element_size() for t in tensors) > 1:
            each = torch._foreach_norm([t.detach() for t in tensors])
            return torch.stack([n.float() for n in each]).tolist()
        return [_norm(t) for t in tensors]


def _norm(tensor: Tensor) -> float:
    values = _added_up(tensor)
    if values is None:
        raise Unreadable(tensor)
    if values.numel() == 0:
        return 0.0
    if not values.is_floating_point() and not values.is_complex():
        values = values.double()
    return float(torch.linalg.vector_norm(values))


def _added_up(tensor: Tensor) -> Tensor | None:
    """Of a sparse tensor what stands twice at one place counts together."""
    if is_ordinary(tensor) and tensor.is_sparse:
        return tensor.detach().coalesce().values()
    return values_of(tensor)


@unseen
def root_mean_square(tensors: Iterable[Tensor]) -> float:
    """Over all values of all tensors; 0 if there are none."""
    kept = list(tensors)
    size = sum(t.numel() for t in kept)
    return (sum(n * n for n in norms(kept)) / size) ** 0.5 if size else 0.0
