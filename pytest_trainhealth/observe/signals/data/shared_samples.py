"""Samples that are in `data` and in `val_data`, and whether that can be chance.

Tables with few categories, short texts and toy generators give the same sample twice by themselves. How often, `data`
show: as many of its own samples have a twin in it as samples of another set would, if both were drawn alike. Samples
with two or more measured numbers never coincide by chance: there twins in `data` were made, by oversampling say, and
excuse nothing. Grids and lists of everything that is possible have no twins and are still the same in both sets: where
the different values of all columns could make no more samples than there are, nothing is claimed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....records.survey import SharedSamples
from .sample_prints import Prints, Rows, are_among

#: Times as many samples as there are: fewer different ones could be listed one by one. By judgement: 100.
_LISTED = 100.0


#: Columns of measured numbers: in one alone, float32 has only 16 million values between 1 and 2. By judgement: 2.
_MEASURED = 2
#: Of the different samples, the share that is there once. By judgement: where most come again and again, they are drawn
#: from a list of examples, whatever numbers these consist of.
_ONCE = 0.5


def shared_samples(
    data: Prints, val: Prints, data_sketches: Prints, val_sketches: Prints, rows: list[Rows]
) -> SharedSamples:
    """`rows`: some samples of `data`, by field. Places are those in all batches together."""
    times, inside = counts(data), are_among(val, data)
    found = SharedSamples(len(val), int(inside.sum()))
    if not measured(rows) or (times == 1).mean() < _ONCE:
        found.by_chance = float(times[times > 1].sum()) / max(len(data), 1) * len(val)
    if found.shared:
        first = int(inside.argmax())
        found.example, found.twin = (None, first), (None, int((data == val[first]).argmax()))
    if len(data_sketches) == len(data) and len(val_sketches) == len(val):
        repeated = counts(data_sketches)
        if repeated.max(initial=0) <= 1 + times.max(initial=0):  # samples that are no points: sketches say nothing
            found.near = int((are_among(val_sketches, data_sketches) & ~inside).sum())
    return found


def counts(found: Prints) -> NDArray[np.int64]:
    """How often each of the different ones is there."""
    ordered = np.sort(found)
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.zeros(0, int)
    return np.diff(np.append(begins, len(ordered)))


def measured(rows: list[Rows]) -> bool:
    """Two columns or more of numbers, in which no two different samples have the same one."""
    found = 0
    for each in rows:
        if each.dtype.kind == "f" and len(each) > 1:
            different = np.unique(each, axis=0)
            found += sum(len(np.unique(different[:, at])) == len(different) for at in range(each.shape[1]))
    return found >= _MEASURED


def enumerable(rows: list[Rows], samples: int) -> bool:
    """Whether the different values of all columns make so few samples that both sets may list them."""
    if not rows:
        return True
    logs = sum(float(np.log(len(np.unique(each[:, column])))) for each in rows for column in range(each.shape[1]))
    return logs <= float(np.log(_LISTED * max(samples, 1)))
