"""Whether gradients were cut off on one side of 0 only: `grad.clamp_(max=limit)` without the limit below."""

from __future__ import annotations

import torch
from torch import Tensor

#: Values at the limit: this many, and of all that are not 0 this share. By judgement: a gradient is the same number ten
#: times over only where something has set it, and where fewer are cut, the cut does no harm.
_FEWEST, _SHARE = 10, 0.02
#: How far the other side goes beyond the limit. By judgement: five times, so that gradients which merely lean to one
#: side, and were cut on both, do not count.
_BEYOND = 5.0


def cut_on_one_side(gradients: list[Tensor]) -> float | None:
    """The limit, with its sign. Of all gradients together, because one limit is meant for all."""
    real = [g.detach().reshape(-1).float() for g in gradients if not g.is_complex() and g.numel()]
    if not real:
        return None
    values = torch.cat(real)
    lowest, highest = float(values.min()), float(values.max())
    limit, other = (highest, lowest) if highest < -lowest else (lowest, highest)
    if not limit or abs(other) < _BEYOND * abs(limit) or limit * other > 0:
        return None
    at_limit, there = int((values == limit).sum()), int(values.count_nonzero())
    return limit if at_limit >= max(_FEWEST, _SHARE * there) else None
