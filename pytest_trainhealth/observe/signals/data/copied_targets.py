"""Whether the target stands among the features: as it is, on a straight line, or one value for each class.

A feature that merely predicts the target is no fault, however well it does: labels of toy data are often the sign of a
feature, and a number is often a multiple of the only one. So a feature has to *be* the target: a column with as many
different values as there are classes, each of them with one class, or a straight line through all samples.

Some features are made from the target without being it: a fee that is charged after a default and is 0 for everybody
else, the logarithm of the price. These are a function of the target beyond doubt, too (one value in one class and never
in another; the same order without an exception), but honest features may come close. So the other features have to be
far from telling the target, all of them together; or, of a number, to leave far more of it untold than that column does
by itself: whoever measures what a number depends on has the noise of the others, too.

In windows of a series the target may be the last value of the window itself; that has to be equal. Where each sample
has several targets (the nodes of a graph, the elements of a sequence), those of all of them are compared.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ....records.survey import TargetCopy
from .field_statistics import FieldStatistics
from .ridge import Teller, chance
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
#: Share of a class whose values differ, where those of another class are all the same. By judgement: half of them; a
#: flag or a category that one class never has is an honest feature.
_VARIED = 0.5
#: What the other features together may tell, each sample left out in turn: of the classes beyond those of a constant
#: answer, or of the variance. By judgement: a feature that is right without an exception among others that are wrong in
#: a tenth of the cases is not one of them.
_OTHERS = 0.9
#: Samples for that, as in alignment. By judgement: 256 make a small kernel matrix.
_COMPARED = 256
#: Of what the other features leave untold of a number: so little does a column leave that is made from it. A smooth
#: function of it leaves 0.03 of the variance with 256 samples and 0.005 with 512; the prices of flats, with a noise of
#: 5 %, leave 0.08 without their tax. By judgement: a tenth.
_FAR_LESS = 0.1
#: Samples for that. By judgement: 512 make a kernel matrix of 2 MB, and are compared only where a column is in order.
_COMPARED_ALONE = 512
#: Elements of all samples that are compared. By judgement: 4,096, as of samples.
_ELEMENTS = 4096
#: A step of a window: with fewer than this many values along an axis it is none. By judgement: 3.
_STEPS = 3
#: More classes than this share of the samples are no classes. By judgement: four of each.
_CLASSES = 0.25


def copied_target(inputs: FieldStatistics, targets: FieldStatistics, classes: bool) -> list[TargetCopy]:
    """What is found in one field of inputs about one field of targets."""
    if not inputs.is_float:
        return []
    rows, aims = inputs.kept(), targets.kept()
    many = min(len(rows), len(aims))  # of both those of the same samples come first
    rows, aims = rows[:many], aims[:many]
    if targets.values == 1:
        if len(inputs.shape) == 1:
            found = copies(inputs.name, rows, targets.name, aims.ravel(), classes)
            return found or _end_of_a_window(inputs, rows, targets.name, aims.ravel(), classes)
        return _end_of_a_window(inputs, rows, targets.name, aims.ravel(), classes)
    elements = len(inputs.shape) == 2 and targets.shape in (inputs.shape[:1], (inputs.shape[0], 1))
    if elements and inputs.columns == inputs.values and targets.columns == targets.values:
        of_all = rows.reshape(-1, inputs.shape[1])[:_ELEMENTS]
        return copies(inputs.name, of_all, targets.name, aims.reshape(-1)[:_ELEMENTS], classes)
    return []


def copies(name: str, rows: Rows, target_name: str, target: NDArray[np.generic], classes: bool) -> list[TargetCopy]:
    if not _FEATURES <= rows.shape[1] <= _MOST or not _comparable(rows, target, classes):
        return []
    kinds = len(np.unique(target))
    columns = _one_to_one(rows, target) if classes else _straight(rows, target)
    if not columns:
        columns = _told_by_one(rows, target, classes)
    if not columns or len(np.unique(rows, axis=0)) <= (kinds if classes else 2):
        return []  # every sample is the example of its class: all features are
    noise = _is_noise(rows) and _alike(rows)
    return [TargetCopy(name, column, target_name, len(rows), kind, noise) for column, kind in columns[:1]]


def _end_of_a_window(
    inputs: FieldStatistics, rows: Rows, target_name: str, target: NDArray[np.generic], classes: bool
) -> list[TargetCopy]:
    """The last value along some axis. Elsewhere it may be meant: a trajectory begins where it began."""
    if classes or inputs.columns != inputs.values or not _comparable(rows, target, classes):
        return []
    for column in np.flatnonzero((rows == target[:, None]).all(0)):
        at = tuple(int(each) for each in np.unravel_index(int(column), inputs.shape))
        last = any(size >= _STEPS and place == size - 1 for place, size in zip(at, inputs.shape, strict=True))
        if last and len(np.unique(target)) > _FEATURES:
            return [TargetCopy(inputs.name, int(column), target_name, len(rows), "equal", _is_noise(rows), at)]
    return []


def _comparable(rows: Rows, target: NDArray[np.generic], classes: bool) -> bool:
    if len(rows) < _FEWEST or not np.isfinite(rows).all() or not np.isfinite(target.astype(np.float64)).all():
        return False
    kinds = len(np.unique(target))
    return kinds > 1 and not (classes and kinds > _CLASSES * len(rows))


def _is_noise(rows: Rows) -> bool:
    """Each feature is drawn for itself, as in a smoke test."""
    inputs = torch.from_numpy(rows.astype(np.float64))
    return not hangs_together(inputs) and not lopsided(inputs)


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


def _told_by_one(rows: Rows, target: NDArray[np.generic], classes: bool) -> list[tuple[int, str]]:
    """A function of the target, while the other features, all of them together, are far from telling it."""
    found = _only_in_one_class(rows, target) if classes else _in_its_order(rows, target)
    if not found:
        return []
    rest = np.delete(rows, found[0][0], axis=1)[:_COMPARED]  # several of them tell each other: honest ones may
    aims = torch.from_numpy(target[:_COMPARED].astype(np.float64))[:, None]
    base = chance(aims, classes)
    if base is None or not rest.shape[1]:
        return []
    predicted = Teller(torch.from_numpy(rest.astype(np.float64))).score(aims, classes)
    if predicted - base <= _OTHERS * (1 - base):
        return found
    one = found[0][0]
    return [(one, "in its order alone")] if not classes and len(found) == 1 and _by_itself(rows, target, one) else []


def _by_itself(rows: Rows, target: NDArray[np.generic], column: int) -> bool:
    """The column tells the target far better than all the others together."""
    if len(target) < _COMPARED_ALONE:
        return False
    aims = torch.from_numpy(target[:_COMPARED_ALONE].astype(np.float64))[:, None]
    numbers = rows[:_COMPARED_ALONE].astype(np.float64)
    one, rest = numbers[:, [column]], np.delete(numbers, column, axis=1)
    alone, others = (1 - Teller(torch.from_numpy(each)).score(aims, False) for each in (one, rest))
    return alone < _FAR_LESS * others


def _only_in_one_class(rows: Rows, target: NDArray[np.generic]) -> list[tuple[int, str]]:
    """Columns with a single value in one class, which no sample of another class has, and many values in these."""
    kinds, counts = np.unique(target, return_counts=True)
    found = []
    for kind in kinds[counts >= _FEWEST // 2]:
        inside = target == kind
        others = rows[~inside]
        if len(others) < _FEWEST // 2:
            continue
        value = rows[int(inside.argmax())]
        for column in np.flatnonzero((rows[inside] == value).all(0) & (others != value).all(0)):
            if len(np.unique(others[:, column])) > _VARIED * len(others):
                found.append((int(column), "only in one class"))
    return found


def _in_its_order(rows: Rows, target: NDArray[np.generic]) -> list[tuple[int, str]]:
    """Columns that rise, or fall, whenever the target rises, without an exception."""
    order = np.argsort(target, kind="stable")
    ahead = np.diff(target[order].astype(np.float64))
    if (ahead > 0).mean() < _VARIED:
        return []
    steps = np.diff(rows[order].astype(np.float64), axis=0)
    level = (ahead == 0)[:, None]
    rises = (np.where(level, steps == 0, steps > 0)).all(0)
    falls = (np.where(level, steps == 0, steps < 0)).all(0)
    return [(int(column), "in its order") for column in np.flatnonzero(rises | falls)]


def _alike(rows: Rows) -> bool:
    """All columns have about the same number of different values: drawn in one go."""
    different = [len(np.unique(rows[:, column])) for column in range(rows.shape[1])]
    return min(different) * 2 >= max(different)
