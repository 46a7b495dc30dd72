"""What the labels of `val_data` say about those of `data`: whether these belong to their inputs, and how many do.

Classes that overlap look like wrong labels, and labels that nothing can predict like shuffled ones. A second set of the
same kind tells them apart: what the inputs of `data` say about their labels, each sample left out in turn, they say
about those of `val_data` just as well, if both were labelled alike. Where `val_data` can be told and `data` cannot, the
labels of `data` belong to other inputs. Where `data` can be told, but much worse than what was learnt from them tells
`val_data`, some of them are wrong. Noise also keeps from learning anything out of them: then what was learnt from
`val_data` tells those of them that are right.

Both sets have to be of the same kind. Where their inputs lie elsewhere or spread differently, as augmented ones do,
nothing is said.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....records.survey import HeldOutLabels
from .ridge import Pupil, Teller, chance, counted, projected
from .sample_prints import Rows

#: Samples of `data` that are learnt from. By judgement: 512 make a kernel matrix of 2 MB, in a tenth of a second.
_MOST = 512
#: The fewest of both. By judgement: of 96 samples a share is known within 5 % (one deviation), as in alignment for 48.
_FEWEST, _FEWEST_HELD_OUT = 200, 96
#: Of each class, in both. By judgement: 5 in a class are no accident.
_OF_A_CLASS = 5
#: Right so often, or of the variance: these labels belong to their inputs, and few of them are wrong. By judgement:
#: what is beyond is never reported, so the rest need not be computed.
_PLAINLY = 0.9
#: Directions along which the two sets are compared, and what may be different: centres by this many spreads, spreads by
#: this factor. By judgement: halves of one set of 96 samples differ by 0.15 and 1.15.
_DIRECTIONS, _APART, _WIDER = 16, 0.5, 1.5
#: Columns of that comparison, after random projection. By judgement: 64, as among neighbours.
_COLUMNS = 64


def held_out_labels(
    name: str,
    rows: Rows,
    labels: NDArray[np.generic],
    val_rows: Rows,
    val_labels: NDArray[np.generic],
    classes: bool,
) -> HeldOutLabels | None:
    """None where there is nothing to say: labels that are told well, too few samples, two sets of different kinds."""
    rows, labels, val_rows, val_labels = rows[:_MOST], labels[:_MOST], val_rows[:_MOST], val_labels[:_MOST]
    if len(labels) < _FEWEST or len(val_labels) < _FEWEST_HELD_OUT:
        return None
    inputs, val_inputs = (torch.from_numpy(each.astype(np.float64)) for each in (rows, val_rows))
    if not bool(torch.isfinite(inputs).all()) or not bool(torch.isfinite(val_inputs).all()):
        return None
    if not classes:
        return _of_numbers(name, inputs, labels, val_inputs, val_labels)
    known, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(known) < 2 or counts.min() < _OF_A_CLASS or not np.isin(val_labels, known).all():
        return None
    targets, val_targets = torch.from_numpy(index.ravel()), torch.from_numpy(np.searchsorted(known, val_labels))
    base, val_base = (chance(each[:, None].double(), True) for each in (targets, val_targets))
    if base is None or val_base is None:
        return None
    pupil = Pupil(inputs, targets, val_inputs)
    predicted = float((pupil.left_out() == targets).double().mean())
    if predicted > _PLAINLY or not alike(inputs, val_inputs):
        return None
    # of each class as many as in `data`: a class that is easy and frequent in val_data alone proves nothing
    of_each = np.bincount(val_targets.numpy(), minlength=len(known))
    weights = (counts / np.maximum(of_each, 1))[val_targets.numpy()]
    right = (pupil.of_others() == val_targets).numpy()
    teacher = Pupil(val_inputs, val_targets, inputs)
    by_itself, by_val = teacher.left_out() == val_targets, (teacher.of_others() == targets).double().mean()
    return HeldOutLabels(
        name, len(inputs), len(val_inputs), len(known), base, predicted, val_base,
        float(np.average(right, weights=weights)), float(by_itself.double().mean()), float(by_val),
    )  # fmt: skip


def token_counts(rows: Rows, val_rows: Rows) -> tuple[Rows, Rows]:
    """Texts as what they hold: how often each token comes in them."""
    both = [torch.from_numpy(each[:_MOST].astype(np.int64)) for each in (rows, val_rows)]
    counts = counted(torch.cat(both)).double().numpy()
    return counts[: len(both[0])], counts[len(both[0]) :]


def _of_numbers(
    name: str, inputs: Tensor, labels: NDArray[np.generic], val_inputs: Tensor, val_labels: NDArray[np.generic]
) -> HeldOutLabels | None:
    """Shares of the variance, and no classes. What was learnt from `data` is not tried on `val_data`."""
    targets, val_targets = (torch.from_numpy(each.astype(np.float64))[:, None] for each in (labels, val_labels))
    if not bool(torch.isfinite(targets).all()) or not bool(torch.isfinite(val_targets).all()):
        return None
    if chance(targets, False) is None or chance(val_targets, False) is None:
        return None
    predicted = Teller(inputs).score(targets, False, lambda score: score > _PLAINLY)
    if predicted > _PLAINLY or not alike(inputs, val_inputs) or not alike(targets, val_targets):
        return None
    by_itself = Teller(val_inputs).score(val_targets, False)
    return HeldOutLabels(name, len(inputs), len(val_inputs), 0, 0.0, predicted, 0.0, 0.0, by_itself)


def alike(one: Tensor, other: Tensor) -> bool:
    """Same centres and spreads, along random directions and along those in which the first varies most."""
    spread = one.std(0)
    varying = spread > 0
    if not bool(varying.any()):
        return False
    first, second = ((each[:, varying] - one[:, varying].mean(0)) / spread[varying] for each in (one, other))
    both = projected(torch.cat([first, second]), _COLUMNS)
    first, second = both[: len(first)], both[len(first) :]
    _, main = torch.linalg.eigh(first.T @ first)
    features = torch.eye(first.shape[1], dtype=first.dtype, device=first.device)
    for directions in (features[:, :_DIRECTIONS], main[:, -_DIRECTIONS:]):
        ours, theirs = first @ directions, second @ directions
        scale = ours.std(0).clamp(min=1e-9)
        if float(((ours.mean(0) - theirs.mean(0)).abs() / scale).max()) > _APART:
            return False
        if float((theirs.std(0) / scale).log().abs().max()) > float(np.log(_WIDER)):
            return False
    return True
