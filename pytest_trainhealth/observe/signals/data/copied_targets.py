"""Whether the target stands among the features: as it is, on a straight line, or one value for each class.

A feature that merely predicts the target is no fault, however well it does: labels of toy data are often the sign of a
feature, and a number is often a multiple of the only one. So a feature has to *be* the target: a column with as many
different values as there are classes, each of them with one class, or a straight line through all samples.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ....records.survey import TargetCopy
from .sample_prints import Rows
from .white_noise import hangs_together, lopsided

#: Fewest samples. By judgement: 48, as in alignment: two columns of as many coin flips agree once in 1e14 tables.
_FEWEST = 48
#: Samples of the rarest class. By judgement: 5 in a class are no accident.
_OF_A_CLASS = 5
#: Features of a table: with one or two the target may well be made of one. By judgement: 3.
_FEATURES = 3
#: Columns of a table. By judgement: more than 2,048 are no table.
_MOST = 2048
#: How far the samples may lie from a straight line, in spreads. By judgement: float32 has seven digits.
_STRAIGHT = 1e-5
#: More classes than this share of the samples are no classes. By judgement: four of each.
_CLASSES = 0.25


def copies(name: str, rows: Rows, target_name: str, target: NDArray[np.generic], classes: bool) -> list[TargetCopy]:
    if len(rows) < _FEWEST or not _FEATURES <= rows.shape[1] <= _MOST:
        return []
    if not np.isfinite(rows).all() or not np.isfinite(target.astype(np.float64)).all():
        return []
    kinds = len(np.unique(target))
    if kinds < 2:
        return []
    if classes and kinds > _CLASSES * len(rows):
        return []
    columns = _one_to_one(rows, target) if classes else _straight(rows, target)
    if not columns or len(np.unique(rows, axis=0)) <= (kinds if classes else 2):
        return []  # every sample is the example of its class: all features are
    inputs = torch.from_numpy(rows.astype(np.float64))
    noise = not hangs_together(inputs) and not lopsided(inputs) and _alike(rows)
    return [TargetCopy(name, column, target_name, len(rows), kind, noise) for column, kind in columns[:1]]


def _one_to_one(rows: Rows, target: NDArray[np.generic]) -> list[tuple[int, str]]:
    kinds, index, counts = np.unique(target, return_inverse=True, return_counts=True)
    if counts.min() < _OF_A_CLASS:
        return []
    index, found = index.ravel(), []
    first = np.array([int(np.argmax(index == each)) for each in range(len(kinds))])
    for column in range(rows.shape[1]):
        values = rows[first, column]
        if len(np.unique(values)) == len(kinds) and bool((rows[:, column] == values[index]).all()):
            equal = bool((values.astype(np.float64) == kinds.astype(np.float64)).all())
            found.append((column, "equal" if equal else "one to one"))
    return found


def _straight(rows: Rows, target: NDArray[np.generic]) -> list[tuple[int, str]]:
    numbers, wanted = rows.astype(np.float64), target.astype(np.float64)
    spread = numbers.std(0)
    if wanted.std() == 0 or len(np.unique(wanted)) <= _FEATURES:
        return []
    varying = np.flatnonzero(spread > 0)
    standard = (numbers[:, varying] - numbers[:, varying].mean(0)) / spread[varying]
    aim = (wanted - wanted.mean()) / wanted.std()
    slopes = (standard * aim[:, None]).mean(0)
    apart = np.abs(standard * np.sign(slopes) - aim[:, None]).max(0)
    found = [int(varying[each]) for each in np.flatnonzero(apart < _STRAIGHT)]
    return [(column, "equal" if bool((numbers[:, column] == wanted).all()) else "scaled") for column in found]


def _alike(rows: Rows) -> bool:
    """All columns have about the same number of different values: drawn in one go."""
    different = [len(np.unique(rows[:, column])) for column in range(rows.shape[1])]
    return min(different) * 2 >= max(different)
