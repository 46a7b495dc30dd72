"""How far a field of a batch may be moved and still look like the user's data.

Each feature stays between the smallest and largest value seen. A few more rules keep the search from finding impossible
inputs: whole numbers (counts, flags, masks) are not moved, nor are rows that all have the same sum or length (shares,
unit vectors); and a feature that is always above another (an end and its start) stays at least as far above it as the
data show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

#: With more features, comparing each with every other costs more than the search. By judgement: 64 x 64 pairs.
_MOST_FEATURES = 64
#: Rows that are looked at. By judgement: the bounds of 4,096 rows are nearly those of all the data.
_MOST_ROWS = 4096
#: The relative difference up to which sums count as the same: float32 sums of some 100 values agree better than 1e-4.
_SAME = 1e-4


class DataBounds:
    """`low` and `high` have the shape of one sample of the field. Elements whose `width` is 0 may not be moved."""

    def __init__(self, field: Tensor, others: Sequence[Tensor], *, by_sample: bool) -> None:
        """`others`: the same field of other batches. `by_sample`: its first dimension counts samples."""
        alike = [t for t in others if t.shape[by_sample:] == field.shape[by_sample:] and t.dtype == field.dtype]
        values = (torch.cat if by_sample else torch.stack)([field, *alike]).detach()
        self.low, self.high = values.amin(0), values.amax(0)
        fixed = (values == values.round()).all(0)
        if not bool(torch.isfinite(values).all()) or any(_all_the_same(each) for each in _figures_of_rows(values)):
            fixed = torch.ones_like(fixed)
        self.width = torch.where(fixed, 0, self.high - self.low)
        self._apart = _always_apart(values)

    @property
    def movable(self) -> bool:
        return bool((self.width > 0).any())

    def inside(self, wanted: Tensor, now: Tensor) -> Tensor:
        """As much of the move from `now` to `wanted` as the data allow."""
        moved = torch.where(self.width > 0, torch.minimum(torch.maximum(wanted, self.low), self.high), now)
        if self._apart is None:
            return moved
        closer = moved[..., None, :] - moved[..., :, None] < self._apart
        return torch.where(closer.flatten(-2).any(-1, keepdim=True), now, moved)


def _figures_of_rows(values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Sums and lengths of the rows, each with the size that a difference is measured against."""
    dimensions: list[int | list[int]] = [*range(1, values.ndim)]
    if values.ndim > 2:
        dimensions.append(list(range(1, values.ndim)))
    for dimension in dimensions:
        sizes = values.abs().sum(dimension)
        yield values.sum(dimension), sizes
        yield torch.linalg.vector_norm(values, dim=dimension), sizes


def _all_the_same(figures: tuple[Tensor, Tensor]) -> bool:
    figure, size = figures
    several = figure.numel() > 1
    return several and float(figure.max() - figure.min()) <= _SAME * float(size.mean())


def _always_apart(values: Tensor) -> Tensor | None:
    """[i, j]: by how much feature j is always above feature i, though their ranges overlap; -inf if it is not."""
    if values.ndim < 2 or not 1 < values.shape[-1] <= _MOST_FEATURES:
        return None
    rows = values.reshape(-1, values.shape[-1])[:_MOST_ROWS]
    least = (rows[:, None, :] - rows[:, :, None]).amin(0)
    ordered = (least >= 0) & (rows.amax(0)[:, None] >= rows.amin(0)[None, :])
    ordered.fill_diagonal_(False)
    return torch.where(ordered, least, -torch.inf) if bool(ordered.any()) else None
