"""Masked autoregressive models: by design, the last input in their order reaches no output."""

from __future__ import annotations

import torch
from torch import Tensor

from .repeat_call import Leaf, NotRepeatable, Repeater

#: Most columns of which the outputs' dependence is computed. By judgement: 128, as each takes a backward pass.
_MOST_COLUMNS = 128


def is_autoregressive(repeater: Repeater, leaf: Leaf) -> bool:
    """Each output belongs to one input, does not depend on it, and the dependences on others run in one order.

    Found with random weights, too, so that a weight that happens to be 0 plays no part.
    """
    columns = leaf.tensor.shape[1]
    if leaf.tensor.ndim != 2 or columns > _MOST_COLUMNS:
        return False
    reached = torch.zeros(columns, columns, dtype=torch.bool, device=leaf.tensor.device)
    try:
        for table in _dependences(repeater, leaf):
            reached |= table
        with repeater.other_weights(1):
            for table in _dependences(repeater, leaf):
                reached |= table
    except (NotRepeatable, RuntimeError):
        return False
    return bool(reached.any()) and _in_one_order(reached)


def _dependences(repeater: Repeater, leaf: Leaf) -> list[Tensor]:
    """(columns of the output, columns of the input) for each output that has as many columns, or a multiple."""
    columns = leaf.tensor.shape[1]
    wanted = leaf.tensor.clone().requires_grad_()
    outputs = repeater.run({leaf.name: wanted}, gradients=True)
    found = []
    for output in outputs.values():
        if not output.requires_grad or output.ndim < 2 or output[0].numel() % columns or len(output) != len(wanted):
            continue
        flat = output.reshape(len(output), -1)
        rows = [torch.autograd.grad(flat[:, n].sum(), wanted, retain_graph=True, allow_unused=True)[0]
                for n in range(flat.shape[1])]  # fmt: skip
        none = torch.zeros(columns, dtype=torch.bool, device=wanted.device)
        table = torch.stack([none if r is None else (r != 0).any(0) for r in rows])
        found.append(_folded(table, columns))
    return found


def _folded(table: Tensor, columns: int) -> Tensor:
    """Several numbers for each column may stand side by side or in blocks: whichever leaves the diagonal free."""
    blocks = table.reshape(-1, columns, columns).any(0)
    side_by_side = table.reshape(columns, -1, columns).any(1)
    return blocks if not bool(blocks.diagonal().any()) else side_by_side


def _in_one_order(reached: Tensor) -> bool:
    """No output reaches itself, not even by way of others: inputs can be taken one after the other until none is
    left."""
    left = set(range(len(reached)))
    while left:
        free = [n for n in left if not any(bool(reached[n, m]) for m in left)]
        if not free:
            return False
        left -= set(free)
    return True
