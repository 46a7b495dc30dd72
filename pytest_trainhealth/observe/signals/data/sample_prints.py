"""Samples as numbers of 64 bits: equal samples have equal ones, and two different ones hardly ever.

A print is 8 bytes whatever the sample's size, so that a million of them fit into 8 MB. A sketch is the print of a
sample that was rounded first: samples that differ by much less than the rounding have the same one, most of the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.generic]
Prints = NDArray[np.uint64]

#: Values of a sample that are compared, spread over it. By judgement: samples that agree in 4,096 values are the same.
MOST_VALUES = 4096
#: Rows at a time, so that what is computed with stays small. By judgement: 16,384 rows of 20 numbers are 3 MB.
_ROWS = 16_384
#: Directions that a sketch looks along. By judgement: 6 directions with 600 steps each tell 4e16 places apart.
_DIRECTIONS = 6
#: In spreads of the samples along a direction: what differs by less is a near duplicate.
#: By judgement: the hundredth part, 0.01, is less than any augmentation and more than rounding.
STEP = 0.01
#: The mixing of SplitMix64 (Steele, Lea and Flood 2014): 30, 27 and 31 bits, and its two odd factors.
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
#: The same: 2 factors.
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def prints(rows: Rows) -> Prints:
    """One for each row."""
    words = _words(rows)
    keys = np.random.default_rng(words.shape[1]).integers(1, 2**63, words.shape[1], dtype=np.uint64)
    found = np.empty(len(words), np.uint64)
    for begin in range(0, len(words), _ROWS):
        found[begin : begin + _ROWS] = _mixed(words[begin : begin + _ROWS] + keys).sum(1, dtype=np.uint64)
    return found


def joined(*several: Prints) -> Prints:
    """The prints of samples that consist of several fields."""
    total = np.zeros(len(several[0]), np.uint64)
    for number, each in enumerate(several, 1):
        total = _mixed(total + each * np.uint64(2 * number + 1))
    return total


def different(found: Prints) -> int:
    """How many different ones there are. By sorting: numpy's own way takes ten times as long for a million of them."""
    ordered = np.sort(found)
    return int((ordered[1:] != ordered[:-1]).sum()) + 1 if len(ordered) else 0


def are_among(found: Prints, others: Prints) -> NDArray[np.bool_]:
    """Which of these are among the others."""
    if not len(others):
        return np.zeros(len(found), bool)
    ordered = np.sort(others)
    at = np.searchsorted(ordered, found)
    return np.asarray(ordered[np.minimum(at, len(ordered) - 1)] == found)


class Sketcher:
    """Made for the scale of some first samples."""

    def __init__(self, rows: NDArray[np.floating]) -> None:
        spread = rows.std(0)
        self._centre, self._scale = rows.mean(0), np.where(spread > 0, spread, np.inf)
        varying = max(int((spread > 0).sum()), 1)
        directions = np.random.default_rng(rows.shape[1]).standard_normal((rows.shape[1], _DIRECTIONS))
        self._directions = (directions / (np.sqrt(varying) * STEP)).astype(np.float32)

    def sketches(self, rows: NDArray[np.floating]) -> Prints:
        found = np.empty(len(rows), np.uint64)
        for begin in range(0, len(rows), _ROWS):
            part = ((rows[begin : begin + _ROWS] - self._centre) / self._scale).astype(np.float32)
            with np.errstate(invalid="ignore"):
                found[begin : begin + _ROWS] = prints(np.floor(part @ self._directions).astype(np.int64))
        return found


def _words(rows: Rows) -> Prints:
    """The bytes of each row in words of 64 bits. 0.0 and -0.0 are the same number, and get the same bytes."""
    if rows.dtype.kind == "f":
        plain = rows.astype(np.float32) + np.float32(0.0)
        if plain.shape[1] % 2:
            plain = np.concatenate([plain, np.zeros((len(plain), 1), np.float32)], 1)
        return np.ascontiguousarray(plain).view(np.uint64)
    return np.ascontiguousarray(rows.astype(np.int64)).view(np.uint64)


def _mixed(words: Prints) -> Prints:
    with np.errstate(over="ignore"):
        words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
        words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
        return words ^ (words >> _SHIFTS[2])
