"""Samples of `val_data` that are copies of samples in `data`, but for a little noise or a little less light.

Images that were augmented before the split, measurements that were written down twice: not equal, and still the same.
How near is too near depends on the data. Among samples that are drawn one by one, the number of neighbours within a
distance grows with a power of it, the dimension of the data, and the distances of the 20th and the 60th neighbour give
both. From them follows how near the nearest one should be, and how rarely it is as near as it is. A copy lies closer
than one in ten thousand samples would, and at a small part of the distance of the 20th neighbour.

Only neighbours with the same target count: then classes that are tight clusters are measured by themselves, and points
of a class that lie closer together than those of another are no copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....records.survey import NearCopies
from .sample_prints import Rows

#: The neighbours that the scale and the dimension come from. By judgement: copies come in fives or tens, and 20 are
#: more than that.
_NEAR, _FAR = 20, 60
#: Of the distance of the 20th neighbour. By judgement: augmentation that leaves a photograph what it is changes it by
#: 2 to 15 % of the distance between two different ones.
_CLOSE = 0.2
#: How often a sample drawn by itself lies as near. By judgement: 1e-4, so that of 10,000 samples one does.
_RARE = 1e-4
#: Columns of an input: with fewer a small distance is no wonder. By judgement: 8.
_FEWEST_COLUMNS = 8
#: Samples of `val_data`, and columns after random projection, as among neighbours of labels. By judgement: 64 columns
#: keep squared distances within 18 %.
_MOST, _COLUMNS = 512, 64
#: Of the targets, the share that differ, for equal ones to mean something. By judgement: half.
_DIFFERENT = 0.5


def near_copies(
    name: str, rows: Rows, targets: NDArray[np.generic], val_rows: Rows, val_targets: NDArray[np.generic], classes: bool
) -> NearCopies | None:
    """None where nothing can be said: few columns, few samples of a class, numbers that come again and again."""
    if rows.shape[1] < _FEWEST_COLUMNS or len(rows) <= _FAR or not len(val_rows):
        return None
    if not np.isfinite(rows).all() or not np.isfinite(val_rows).all():
        return None
    val_rows, val_targets = val_rows[:_MOST], val_targets[:_MOST]
    points, others = _points(rows, val_rows)
    if not points.shape[1]:
        return None
    found = NearCopies(name, 0)
    if not classes:
        if len(np.unique(targets)) < _DIFFERENT * len(targets):
            return None
        near, at = _copies(points, others)
        found.samples, found.near = len(others), int((near & (targets[at] == val_targets)).sum())
        return found
    for kind in np.unique(val_targets):
        own, theirs = points[targets == kind], others[val_targets == kind]
        if len(own) > _FAR:
            found.samples += len(theirs)
            found.near += int(_copies(own, theirs)[0].sum())
    return found if found.samples else None


def _copies(points: NDArray[np.float32], others: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Which of the others are copies of a point, and of which one. Equal ones do not count: those are known."""
    squares = (others**2).sum(1)[:, None] - 2 * others @ points.T + (points**2).sum(1)
    nearest = squares.argmin(1)
    exact = np.sqrt(((others - points[nearest]) ** 2).sum(1))  # the difference of large squares is not exact
    far = np.sqrt(np.maximum(np.partition(squares, (_NEAR - 1, _FAR - 1), axis=1)[:, [_NEAR - 1, _FAR - 1]], 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        dimension = np.log(_FAR / _NEAR) / np.log(far[:, 1] / far[:, 0])
        expected = _NEAR * (exact / far[:, 0]) ** dimension
    near = (exact > 0) & (exact < _CLOSE * far[:, 0]) & (expected < _RARE)
    return near & np.isfinite(dimension), nearest


def _points(rows: Rows, val_rows: Rows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    numbers, others = rows.astype(np.float32), val_rows.astype(np.float32)
    spread = numbers.std(0)
    varying = spread > 0
    centre = numbers[:, varying].mean(0)
    both = np.concatenate([numbers[:, varying], others[:, varying]])
    both = (both - centre) / spread[varying]
    if both.shape[1] > _COLUMNS:
        both = both @ np.random.default_rng(0).standard_normal((both.shape[1], _COLUMNS)).astype(np.float32)
    return both[: len(rows)], both[len(rows) :]
