"""Whether `val_data` has the features of `data` in another order: colours read as BGR, columns of another table.

Each feature has a mean and a spread of its own, by which it can be known again, unless it was standardised by itself.
Features that lie elsewhere in `val_data` are no news: it may come from another place or time. But where each of them
lies exactly where another one lies in `data`, and all of them change places with one another, they were read in another
order.
"""

from __future__ import annotations

import torch
from torch import Tensor

#: Of a spread, between the means of a feature in both, or of a factor of e between their spreads: it is in the wrong
#: place. By judgement: halves of one set of 64 samples differ by 0.2.
_ELSEWHERE = 0.6
#: Of that distance: what is left of it in the right place, at most. By judgement: a quarter.
_LEFT = 0.25
#: Instead of a spread of 0: below any that matters, 1e-6.
_NO_ZERO = 1e-6

Moments = tuple[Tensor, Tensor]


def order_of(own: Moments, other: Moments) -> tuple[int, ...]:
    """For each feature of `data`, which one of `val_data` it is. Empty where that is the same one, or not known."""
    (mean, std), (other_mean, other_std) = own, other  # one alone has no order
    if mean.shape != other_mean.shape or len(mean) < 2:
        return ()
    std, other_std = std.clamp(min=_NO_ZERO), other_std.clamp(min=_NO_ZERO)
    spread = ((std[:, None] ** 2 + other_std[None, :] ** 2) / 2).sqrt()
    apart = (mean[:, None] - other_mean[None, :]).abs() / spread
    apart = apart + (std.log()[:, None] - other_std.log()[None, :]).abs()
    found = apart.argmin(1)
    if not torch.equal(found.sort().values, torch.arange(len(mean), device=mean.device)):
        return ()
    moved = (found != torch.arange(len(mean), device=mean.device)).nonzero()[:, 0]
    if not len(moved) or bool((apart.diagonal() > _ELSEWHERE).sum() > len(moved)):
        return ()
    before, after = apart.diagonal()[moved], apart[moved, found[moved]]
    if bool((before < _ELSEWHERE).any()) or bool((after > _LEFT * before).any()):
        return ()
    return tuple(found.tolist())
