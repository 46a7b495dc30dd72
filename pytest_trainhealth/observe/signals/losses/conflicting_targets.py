"""The least value of a loss where equal inputs have different targets: no model can tell those apart.

To each set of equal inputs the best answer is a constant one, so its loss is that of a guess within the set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...calls.loss_bounds import Bounds, bounds

#: Values of a row that are compared first. By judgement: rows that agree in 16 and in their sum are compared whole.
_GLANCE = 16


def bounds_in_batch(
    name: str, input: Tensor, target: Tensor, kwargs: Mapping[str, Any], batch: Sequence[Tensor]
) -> Bounds:
    """As `bounds`, with the floor that the batch's other fields allow."""
    known = bounds(name, input, target, kwargs)
    if known.floor is None or known.chance is None or not target.ndim or input.shape[:1] != target.shape[:1]:
        return known
    sets = _equal_inputs([each for each in batch if _is_input(each, target)])
    if sets is None:
        return known
    parts = [(len(rows), bounds(name, input[rows], target[rows], kwargs)) for rows in sets]
    least = [(count, part.chance if count > 1 else part.floor) for count, part in parts]
    if any(value is None for _, value in least):
        return known
    return Bounds(sum(count * (value or 0.0) for count, value in least) / len(target), known.chance)


def _is_input(field: Tensor, target: Tensor) -> bool:
    """One row per sample, and not the target itself."""
    if not field.ndim or field.shape[0] != target.shape[0] or not field.numel():
        return False
    if field.untyped_storage().data_ptr() == target.untyped_storage().data_ptr():
        return False
    return field.numel() != target.numel() or not bool((field.flatten() == target.flatten()).all())


def _equal_inputs(fields: list[Tensor]) -> list[list[int]] | None:
    """The samples by what they are told by. None where no two are equal, or all: that is no conflict but a fault."""
    if not fields:
        return None
    rows = [field.detach().reshape(field.shape[0], -1) for field in fields]
    glances = [torch.cat([each[:, :_GLANCE].double(), each.double().sum(1, keepdim=True)], 1) for each in rows]
    found: dict[bytes, list[int]] = defaultdict(list)
    for index, glance in enumerate(torch.cat(glances, 1).cpu().numpy()):
        found[glance.tobytes()].append(index)
    if len(found) in (1, len(rows[0])):
        return None
    equal = all(torch.equal(each[one], each[first]) for first, *more in found.values() for one in more for each in rows)
    return list(found.values()) if equal else None
