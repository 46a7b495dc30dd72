"""Does a model return its samples in another order than it was given them, while the targets keep theirs?

Sequences are sorted by length before they are packed, and nobody puts the outputs back. Each sample then learns the
answer of another one. Four things together show it:

- a sort over the samples ran inside of the call, and each row of the output belongs to the sample that the sort has put
  there: with the samples in another order, this is still true of every row, and rows do not follow the samples;
- the loss was given these outputs, row by row as the model has returned them;
- the targets that it was given are those of the batch, row by row, and so is what the model was called with;
- a target that is met is another one than the sample's own.

A caller that puts outputs or targets into the right order changes one of these, and a batch that comes sorted has
nothing to put right.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ....records.probes import ReturnedOrder
from ...run.run import Run
from .repeat_call import NotRepeatable, Repeater, Values
from .sample_rows import samples_of
from .steps_of_a_call import Step, operations

_SORTS = {"sort", "argsort", "topk"}
#: Relative to the largest value: rows are the same except for rounding. By judgement: the same as in sample_mixing.
_SAME_ROW = 1e-5
#: Fewest samples. By judgement: with fewer than 4, an order means little.
_FEWEST = 4

#: What a loss function was given: a prediction and its target.
Compared = tuple[Tensor, Tensor]


def returned_order(
    repeater: Repeater,
    base: Values,
    made: Values,
    compared: list[Compared],
    batch: Iterable[tuple[str, Tensor]],
    run: Run,
) -> ReturnedOrder | None:
    """`base`: outputs of the repeated call. `made`: those of the call as the step has made it."""
    held = [tensor.detach() for _, tensor in batch]
    for name, output in base.items():
        number = output.shape[0] if output.ndim and output.is_floating_point() else 0
        returned = made.get(name)
        if number < _FEWEST or returned is None or not _in_order_of_the_batch(repeater, number, held):
            continue
        for prediction, target in compared:
            if _same_values(prediction, returned) and len(target) == number and _is_among(target, held):
                found = _sorted_inside(repeater, name, number, run)
                if found is not None:
                    order, step = found
                    rows = target.reshape(number, -1)
                    crossed = int((rows[order] != rows).any(1).sum())
                    record = ReturnedOrder(repeater.call.kind, number, crossed, step.name, repeater.call.made_by)
                    record.place = step.place
                    return record if crossed and not _rises(rows) else None
    return None


def _in_order_of_the_batch(repeater: Repeater, number: int, held: list[Tensor]) -> bool:
    rows = samples_of(repeater, number).rows
    return bool(rows) and all(_is_among(leaf.tensor, held) for leaf in rows)


def _is_among(tensor: Tensor, held: list[Tensor]) -> bool:
    return any(len(each) == len(tensor) and _same_values(tensor, each) for each in held if each.ndim)


def _same_values(one: Tensor, other: Tensor) -> bool:
    if one.numel() != other.numel() or one.layout != torch.strided or other.layout != torch.strided:
        return False
    return torch.equal(one.detach().flatten().double(), other.detach().flatten().double().to(one.device))


def _rises(rows: Tensor) -> bool:
    """Targets that are sorted themselves may be meant for outputs that are, as for a distance between distributions."""
    steps = rows.double().diff(dim=0)
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _sorted_inside(repeater: Repeater, name: str, number: int, run: Run) -> tuple[Tensor, Step] | None:
    """The sample that each row of the output belongs to, if that is another order than that of the samples."""
    mixed = torch.randperm(number, generator=torch.Generator().manual_seed(0), device="cpu")
    changes = {leaf.name: leaf.tensor[mixed.to(leaf.tensor.device)] for leaf in samples_of(repeater, number).rows}
    try:
        before = _orders(operations(repeater, {}, run), number)
        if not before:
            return None
        after = _orders(operations(repeater, changes, run), number)
        one, other = repeater.run()[name], repeater.run(changes)[name]
    except (NotRepeatable, KeyError):
        return None
    if one.shape != other.shape or not bool(torch.isfinite(one).all()) or not bool(torch.isfinite(other).all()):
        return None
    if len(before) != len(after) or _same_rows(one[mixed.to(one.device)], other):
        return None  # rows follow the samples
    for (order, step), (later, _) in zip(before, after, strict=True):
        by_sample, again = torch.empty_like(one), torch.empty_like(other)
        by_sample[order] = one
        again[mixed.to(one.device)[later]] = other
        if _same_rows(by_sample, again):
            return order, step
    return None


def _orders(steps: list[Step], number: int) -> list[tuple[Tensor, Step]]:
    return [
        (result, step)
        for step in steps
        if step.name in _SORTS
        for result in step.results
        if result.dtype == torch.int64 and tuple(result.shape) == (number,) and _is_order(result)
    ]


def _is_order(result: Tensor) -> bool:
    return torch.equal(result.sort().values, torch.arange(len(result), device=result.device))


def _same_rows(one: Tensor, other: Tensor) -> bool:
    largest = float(one.double().abs().max())
    return float((one.double() - other.double()).abs().max()) <= _SAME_ROW * largest
