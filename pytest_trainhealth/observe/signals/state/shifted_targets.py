"""Whether the targets of `val_data` belong to other positions of their sequences than they are paired with.

One side puts a token in front of each sentence, the other does not; one cuts a window a step later. What the model
answers is compared with the target of the position before, and of the one after: no other run is needed for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....records.held_out import ShiftedTargets
from ....records.loss_functions import WITH_CLASSES
from ....tensors.batches import tensors
from .scored_calls import ScoredCalls

#: Positions of a sequence: fewer have hardly a neighbour. By judgement: 3.
_FEWEST = 3
#: How far. By judgement: one token in front, or one step, is what is forgotten.
_BY = (-1, 1)
#: Dimensions of targets of sequences, samples and positions: 2.
_GRID = 2


def shifted_targets(parts: Sequence[Any], calls: ScoredCalls) -> ShiftedTargets | None:
    """None unless the loss of each part is one call of a loss of classes, with a target for each position."""
    if len(calls.kept) != len(parts):
        return None
    right, paired, positions, name = dict.fromkeys(_BY, 0), 0, 0, ""
    for part, (function, scores, target, settings) in zip(parts, calls.kept, strict=True):
        if function not in WITH_CLASSES or target.is_floating_point() or scores.ndim != target.ndim + 1:
            return None
        name, shape = _field_of(part, target)
        if not name or shape[1] < _FEWEST:
            return None
        answers, wanted = scores.argmax(1).reshape(shape), target.reshape(shape)
        counted = wanted != int(settings.get("ignore_index", -100))
        equal = (answers == wanted) & counted
        paired, positions = paired + int(equal[:, 1:].sum()), positions + int(counted[:, 1:].sum())
        for by in _BY:  # the answer at a position, and the target so many before it
            own, other = (slice(1, None), slice(None, -1)) if by > 0 else (slice(None, -1), slice(1, None))
            right[by] += int(((answers[:, own] == wanted[:, other]) & counted[:, other]).sum())
    best = max(_BY, key=lambda by: right[by])
    return ShiftedTargets(name, best, positions, paired / positions, right[best] / positions) if positions else None


def _field_of(batch: Any, target: Tensor) -> tuple[str, tuple[int, ...]]:
    """The field that the loss got as its target, and its shape: a loss is often given one long row."""
    for name, tensor in tensors(batch):
        plain = tensor.ndim == _GRID and tensor.layout == torch.strided and not tensor.is_floating_point()
        if plain and tensor.numel() == target.numel() and torch.equal(tensor.flatten().long(), target.flatten().long()):
            return name, tuple(tensor.shape)
    return "", ()
