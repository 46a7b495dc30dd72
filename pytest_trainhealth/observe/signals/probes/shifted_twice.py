"""Are the targets of a sequence model one element too far ahead, because they were moved twice?

A model of sequences is trained to give the next element. Either whoever makes the labels moves them by one, or the loss
does; where both do, each position is trained to give the element after the next. Three things together show it, and
none of them is a name or a habit of some package:

- the labels in the call or the batch are the tokens, one position ahead: somebody has moved them;
- the targets that the loss was given are the tokens, two positions ahead: somebody has moved them again;
- the outputs that the loss counts are those at the positions of these targets, which its gradient shows. (A loss that
  leaves out the first output and the first label moves nothing: both are cut alike.)

A model with several heads, for the next element and those after it, has a target one position ahead as well. Where the
loss is computed in a way that shows no targets, the model is asked whether it moves the labels itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from ....records.probes import ShiftedTwice
from .leakage import element_shift
from .repeat_call import Leaf, Repeater, Values
from .use_of_labels import moves_labels

#: Share of the targets that have to be the element after the next, and share that may at most be another one. By
#: judgement: the same as for targets that a model can see (leakage.py).
_IS, _IS_NOT = 0.99, 0.9
#: Fewest targets that are compared. By judgement: fewer than 16 may agree by chance in data that repeat themselves.
_FEWEST = 16
#: Share of the positions at which the loss has a target and the output a gradient, or neither. By judgement: all but
#: one in a hundred, where a gradient may be exactly 0.
_FITS = 0.99


def shifted_twice(
    repeater: Repeater, gradients: Values, targets: list[Tensor], batch: Iterable[tuple[str, Tensor]]
) -> ShiftedTwice | None:
    """`gradients`: of the loss, by output. `batch`: where labels are that the model is not called with."""
    call = repeater.call
    if not targets:
        return _by_asking(repeater)
    named = [(leaf.name, leaf.tensor, True) for leaf in call.leaves]
    named += [(f"batch{name}", tensor, False) for name, tensor in batch]
    for leaf in call.leaves:
        if not _are_tokens(leaf.tensor) or any(element_shift(leaf.tensor, target, 1) == 1 for target in targets):
            continue
        found = [(share, number) for target in targets for share, number in _ahead(leaf, target, gradients)]
        if not found:
            continue
        for name, labels, argument in named:
            if labels.shape == leaf.tensor.shape and _are_tokens(labels) and element_shift(leaf.tensor, labels, 1) == 1:
                share, number = found[0]
                return ShiftedTwice(call.kind, leaf.name, name, number, share, argument)
    return None


def _by_asking(repeater: Repeater) -> ShiftedTwice | None:
    call = repeater.call
    tokens = [leaf for leaf in call.leaves if _are_tokens(leaf.tensor)]
    for leaf in tokens:
        for labels in tokens:
            if labels.tensor.shape != leaf.tensor.shape or element_shift(leaf.tensor, labels.tensor, 1) != 1:
                continue
            if moves_labels(repeater, leaf, labels):
                counted = int((labels.tensor[:, 1:] >= 0).sum())
                return ShiftedTwice(call.kind, leaf.name, labels.name, counted, 1.0, by_asking=True)
    return None


def _are_tokens(tensor: Tensor) -> bool:
    return tensor.ndim == 2 and tensor.dtype in (torch.int64, torch.int32)


def _ahead(leaf: Leaf, target: Tensor, gradients: Values) -> Iterator[tuple[float, int]]:
    """For a target that is the element after the next: in which share of how many positions."""
    tokens = leaf.tensor
    samples, length = tokens.shape
    if target.is_floating_point() or target.dtype == torch.bool:
        return
    for positions in (length, length - 1):
        if length <= 2 or target.numel() != samples * positions:
            continue
        aims = target.reshape(samples, positions)
        counts = aims >= 0
        if not any(_belong(counts, gradient, samples, length) for gradient in gradients.values()):
            continue
        shares = [_share(tokens, aims, counts, shift) for shift in (2, 1, 0)]
        if shares[0] >= _IS and max(shares[1:]) < _IS_NOT:
            yield shares[0], int(counts[:, : length - 2].sum())


def _share(tokens: Tensor, aims: Tensor, counts: Tensor, shift: int) -> float:
    common = min(aims.shape[1], tokens.shape[1] - shift)
    valid = counts[:, :common]
    same = tokens[:, shift : shift + common] == aims[:, :common]
    return float(same[valid].float().mean()) if int(valid.sum()) >= _FEWEST else 0.0


def _belong(counts: Tensor, gradient: Tensor, samples: int, length: int) -> bool:
    """The first target belongs to the first output, the second to the second: where one counts, so does the other."""
    if tuple(gradient.shape[:2]) == (samples, length):
        moves = gradient.abs().flatten(2).amax(2) > 0 if gradient.ndim > 2 else gradient != 0
    elif gradient.ndim == 2 and gradient.shape[0] == samples * length:
        moves = gradient.abs().amax(1).reshape(samples, length) > 0
    else:
        return False
    beginning, rest = moves[:, : counts.shape[1]], moves[:, counts.shape[1] :]
    return float((beginning == counts).float().mean()) >= _FITS and not bool(rest.any())
