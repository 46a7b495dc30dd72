"""Two evaluations side by side: their figures, and what the models answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

#: Below this, figures are 0. By judgement: 1e-12 is smaller than any that is looked at.
_NOTHING = 1e-12


def numbers(result: Any) -> tuple[float, ...]:
    if isinstance(result, Tensor):
        flat = result.detach().double().flatten()
        return tuple(flat.tolist()) if not result.is_complex() else ()
    if isinstance(result, (bool, int, float)):
        return (float(result),)
    if isinstance(result, Mapping):
        return tuple(number for value in result.values() for number in numbers(value))
    if isinstance(result, (list, tuple)):
        return tuple(number for value in result for number in numbers(value))
    try:
        return (float(result),)
    except (TypeError, ValueError):
        return ()


def figures_apart(one: tuple[float, ...], other: tuple[float, ...]) -> float | None:
    """Of the largest; means of losses by batch have another number of entries."""
    if not one or len(one) != len(other):
        return None
    return max(abs(a - b) / max(abs(a), abs(b), _NOTHING) for a, b in zip(one, other, strict=True))


def outputs_apart(one: list[Tensor], other: list[Tensor]) -> float | None:
    """How far outputs are apart, as a share of how far samples are; None where they cannot be laid side by side."""
    if not one or not other or sum(t.shape[0] for t in one) != sum(t.shape[0] for t in other):
        return None
    try:
        a, b = torch.cat(one), torch.cat(other)
    except RuntimeError:  # sequences of other lengths
        return None
    if a.shape != b.shape or not a.numel():
        return None
    spread = float((a - a.mean(0)).abs().mean()) or float(a.abs().mean())
    return float((a - b).abs().max()) / spread if spread else float((a - b).abs().max() > 0)


def aligned(whole: list[Tensor], cut: list[Tensor], batches: int) -> tuple[list[Tensor], list[Tensor]]:
    """A model may be called several times for a batch: each call has the rows of its halves beside it."""
    calls = len(whole) // batches
    if not calls or len(whole) != calls * batches or len(cut) != 2 * len(whole):
        return whole, []
    order = [(2 * b + half) * calls + call for b in range(batches) for call in range(calls) for half in (0, 1)]
    return whole, [cut[at] for at in order]
