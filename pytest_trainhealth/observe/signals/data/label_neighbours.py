"""An estimate of label noise: labels that differ from those of their nearest neighbours, where these agree.

Each sample is left out of its own neighbours, as in cross-validation. Where nine of ten neighbours have one label, that
is the label of this place, and a sample of another one is mislabelled, or an exception. Between classes neighbours
disagree, and nothing is counted there: classes that overlap are not noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....records.survey import LabelNoise
from .sample_prints import Rows

#: Neighbours. By judgement: of 10, eight or more agree by chance in 1 of 10 places between two classes.
_NEIGHBOURS = 10
#: Of these, the share that has to agree. By judgement: with a noise of 20 %, two thirds of all places
#: are still counted.
_AGREE = 0.8
#: Fewest samples, and of each class on average. By judgement: with 200 an estimate of 10 % is uncertain by 4 %.
_FEWEST, _OF_A_CLASS = 200, 20
#: Samples whose neighbours are looked for. By judgement: with 1,024 an estimate of 10 % is uncertain by 2 %.
_MOST = 1024
#: Columns after random projection. By judgement: 64 keep squared distances within sqrt(2 / 64) = 18 %.
_COLUMNS = 64
#: Rows whose distances are computed at a time: 512 x 1,024 numbers are 2 MB.
_ROWS = 512


def label_noise(name: str, rows: Rows, labels: NDArray[np.int64]) -> LabelNoise | None:
    """None if there are too few samples, or nowhere do neighbours agree."""
    rows, labels = rows[:_MOST], labels[:_MOST]
    kinds, index = np.unique(labels, return_inverse=True)
    if len(rows) < max(_FEWEST, _OF_A_CLASS * len(kinds)) or len(kinds) < 2:
        return None
    points = _projected(rows)
    if points is None:
        return None
    own, majority, share = index.ravel(), np.empty(len(rows), np.int64), np.empty(len(rows))
    squares = (points**2).sum(1)
    for begin in range(0, len(points), _ROWS):
        some = np.arange(begin, min(begin + _ROWS, len(points)))
        distances = squares[some, None] - 2 * points[some] @ points.T + squares
        distances[some - begin, some] = np.inf
        near = np.argpartition(distances, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
        votes = np.zeros((len(some), len(kinds)))
        np.add.at(votes, (np.repeat(np.arange(len(some)), _NEIGHBOURS), own[near].ravel()), 1.0)
        majority[some], share[some] = votes.argmax(1), votes.max(1) / _NEIGHBOURS
    agreed = share >= _AGREE
    many = int(agreed.sum())
    if not many:
        return None
    differ = int((majority[agreed] != own[agreed]).sum())
    rate = differ / many
    return LabelNoise(name, len(rows), many, differ, rate, 2 * float(np.sqrt(rate * (1 - rate) / many)))


def _projected(rows: Rows) -> NDArray[np.float32] | None:
    numbers = rows.astype(np.float32)
    spread = numbers.std(0)
    if not np.isfinite(spread).all() or not (spread > 0).any():
        return None
    numbers = (numbers[:, spread > 0] - numbers[:, spread > 0].mean(0)) / spread[spread > 0]
    if numbers.shape[1] > _COLUMNS:
        mixing = np.random.default_rng(0).standard_normal((numbers.shape[1], _COLUMNS)).astype(np.float32)
        numbers = numbers @ mixing
    return np.asarray(numbers, np.float32)
