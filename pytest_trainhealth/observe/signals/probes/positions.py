"""Sequences of which one position alone reaches the output, though layers have read the others.

`hidden[:, 0]` of a recurrent net, a loop that overwrites its result, a first token behind a causal mask. A model that
takes one position before its first layer has chosen it, and is left alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...run.run import Run
from .repeat_call import Leaf, NotRepeatable, Repeater
from .steps_of_a_call import operations

#: Fewest other positions that vary. By judgement: with 3 there is a sequence to speak of.
_FEWEST = 3


def without_all_but(leaf: Leaf, kept: int) -> tuple[list[Tensor], list[int]]:
    """Two versions of the input with other samples' values at all positions but one, and the positions that change."""
    values = leaf.tensor
    versions = []
    changed = torch.zeros(values.shape[1], dtype=torch.bool, device="cpu")
    for shift in (1, values.shape[0] // 2):
        other = values.roll(shift, 0)
        other[:, kept] = values[:, kept]
        versions.append(other)
        changed |= (other != values).reshape(*values.shape[:2], -1).any(2).any(0).cpu()
    return versions, changed.nonzero().flatten().tolist()


def candidates(leaf: Leaf) -> list[tuple[int, list[Tensor], list[int]]]:
    """Positions that may be the only ones: the first, the last, the middle."""
    values = leaf.tensor
    tokens = values.ndim == 2 and values.dtype in (torch.int64, torch.int32)
    if not tokens and not (values.ndim == 3 and values.is_floating_point()):
        return []
    length = values.shape[1]
    found = [(kept, *without_all_but(leaf, kept)) for kept in dict.fromkeys((0, length - 1, length // 2))]
    return [(kept, versions, changed) for kept, versions, changed in found if len(changed) >= _FEWEST]


def are_read(repeater: Repeater, leaf: Leaf, other: Tensor, run: Run) -> bool:
    """A layer computes something else when the other positions change: they are read, and thrown away later."""
    try:
        before, after = operations(repeater, {}, run), operations(repeater, {leaf.name: other}, run)
    except NotRepeatable:
        return False
    return any(
        one.weighs and not torch.equal(a, b)
        for one, two in zip(before, after, strict=False)
        for a, b in zip(one.results, two.results, strict=False)
        if a.shape == b.shape
    )
