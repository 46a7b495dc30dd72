"""What is kept of one field while batch after batch is read: sums, prints, and a few of its rows; never all of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....records.survey import FieldSurvey
from .sample_prints import MOST_VALUES, Prints, Rows, Sketcher, prints

#: Rows that are kept for what needs pairs of samples. By judgement: 2,048 make a matrix of 16 MB.
KEPT = 2048
#: Values of these. By judgement: 4 million are 16 MB.
_KEPT_VALUES = 4_000_000
#: Of a feature's mean or spread, the size of its median value, for it to be large as a whole. By judgement: of a normal
#: one it is 0.67, of a few large values among small ones nearly 0.
_RAW = 0.1
#: Of the rows that are kept, different values of a feature that is measured: a category or a count has a few. By
#: judgement: a tenth.
_MEASURED = 0.1


class FieldStatistics:
    def __init__(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> None:
        self.name, self.dtype = name, dtype
        self.shape = tuple(shape)[1:]
        self.is_float = dtype.is_floating_point
        self.values = prod(self.shape)
        self._every = max(1, -(-self.values // MOST_VALUES))
        self.columns = len(range(0, self.values, self._every))
        self.samples = 0
        self.prints: list[Prints] = []
        self.sketches: list[Prints] = []
        self.sketcher: Sketcher | None = None
        self._mean = np.zeros(self.columns)
        self._squares = np.zeros(self.columns)
        self.low = np.full(self.columns, np.inf)
        self.high = np.full(self.columns, -np.inf)
        #: The largest value of samples, of those that are kept; and of all, with its batch and place in it.
        self._largest: tuple[float, int, int] = (-1.0, 0, 0)
        self._kept = _KeptRows(min(KEPT, max(16, _KEPT_VALUES // max(self.columns, 1))))

    def fits(self, tensor: Tensor) -> bool:
        return tuple(tensor.shape[1:]) == self.shape and tensor.dtype == self.dtype

    def add(self, tensor: Tensor, batch: int) -> None:
        rows = self._rows(tensor)
        if not len(rows):
            return
        self.prints.append(prints(rows))
        finite: NDArray[np.floating] = rows.astype(np.float32 if self.is_float else np.float64, copy=False)
        if self.is_float and not np.isfinite(finite).all():
            finite = np.nan_to_num(finite, nan=0.0, posinf=0.0, neginf=0.0)
        self._add_moments(finite)
        sizes = np.abs(finite).max(1)
        at = int(sizes.argmax())
        if sizes[at] > self._largest[0]:
            self._largest = (float(sizes[at]), batch, at)
        if self.is_float and self.columns > 1:
            self.sketcher = self.sketcher or Sketcher(finite)
            self.sketches.append(self.sketcher.sketches(finite))
        self._kept.add(rows)
        self.samples += len(rows)

    def _rows(self, tensor: Tensor) -> Rows:
        flat = tensor.detach().reshape(tensor.shape[0], -1)[:, :: self._every]
        flat = flat.float() if self.is_float else flat.long()
        return flat.cpu().numpy()

    def _add_moments(self, rows: NDArray[np.floating]) -> None:
        """Chan, Golub and LeVeque's way to join the moments of two parts: no sum of large squares is taken."""
        many, mean = len(rows), rows.mean(0, dtype=np.float64)
        squares = rows.var(0, dtype=np.float64) * many
        between, total = mean - self._mean, self.samples + many
        self._mean = self._mean + between * (many / total)
        self._squares = self._squares + squares + between**2 * (self.samples * many / total)
        self.low, self.high = np.minimum(self.low, rows.min(0)), np.maximum(self.high, rows.max(0))

    @property
    def spreads(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self._squares / max(self.samples, 1)))

    @property
    def constant(self) -> NDArray[np.bool_]:
        return np.asarray(self.low == self.high)

    def all_prints(self) -> Prints:
        return np.concatenate(self.prints) if self.prints else np.zeros(0, np.uint64)

    def all_sketches(self) -> Prints:
        return np.concatenate(self.sketches) if self.sketches else np.zeros(0, np.uint64)

    def kept(self) -> Rows:
        """A few rows from all over the data; of several fields of one survey those of the same samples."""
        return self._kept.rows()

    def summary(self, is_input: bool) -> FieldSurvey:
        """Places of samples are those in the batches that came."""
        found = FieldSurvey(self.name, self.samples, self.values, is_input=is_input)
        found.is_table = self.is_float and len(self.shape) <= 1
        found.looked_at, found.constant = self.columns, int(self.constant.sum())
        found.first_constant = int(self.constant.argmax()) * self._every if found.constant else None
        if not self.is_float:
            return found
        if found.is_table and 2 * found.constant > self.columns > found.constant:
            varying = self.kept()[:, ~self.constant]
            different = [len(np.unique(column)) for column in varying.T]
            found.rest_is_measured = min(different) > _MEASURED * len(varying)
        sizes = np.maximum(np.abs(self._mean), self.spreads)
        found.mean, found.std = float(abs(self._mean.mean())), float(self.spreads.mean())
        found.largest_feature = int(sizes.argmax()) * self._every
        found.largest, found.usual = float(sizes.max()), float(np.median(sizes))
        kept = np.abs(np.nan_to_num(self.kept(), nan=0.0, posinf=0.0, neginf=0.0)).max(1)
        column = np.abs(np.nan_to_num(self.kept()[:, int(sizes.argmax())], nan=0.0, posinf=0.0, neginf=0.0))
        found.raw_column = bool(np.median(column) > _RAW * found.largest)
        some = kept[kept > 0]
        if len(some):
            value, batch, sample = self._largest
            found.outlier, found.outlier_ratio = (batch, sample), value / float(np.median(some))
        return found


class _KeptRows:
    """Rows drawn evenly from all that come by: those with the smallest of the numbers that are drawn for them.

    The numbers come from a generator of its own, always the same one, so that fields keep the same samples.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._drawn = np.random.default_rng(0)
        self._parts: list[tuple[NDArray[np.float64], Rows]] = []
        self._limit = np.inf

    def add(self, rows: Rows) -> None:
        numbers = self._drawn.random(len(rows))
        chosen = numbers < self._limit
        self._parts.append((numbers[chosen], rows[chosen].copy()))
        if sum(len(each) for each, _ in self._parts) > 2 * self._most:
            self._thin()

    def rows(self) -> Rows:
        self._thin()
        return self._parts[0][1]

    def _thin(self) -> None:
        numbers = np.concatenate([each for each, _ in self._parts])
        rows = np.concatenate([each for _, each in self._parts])
        order = np.argsort(numbers, kind="stable")[: self._most]
        self._limit = float(numbers[order[-1]]) if len(order) == self._most else np.inf
        self._parts = [(numbers[order], rows[order])]
