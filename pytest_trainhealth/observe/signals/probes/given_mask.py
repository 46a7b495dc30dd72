"""A mask that the caller of a model left out, or gave the wrong way round.

What a model of an installed package does with its inputs is its own business, but not what it is called with. So the
model is asked: its padding is embedded as another token, once as it was called and once with the mask as it should be.
Where outputs at real positions change with the padding, and do not with the other mask, the caller's mask is at fault.
The wrong way round, a mask may also hide the real positions from each other: then outputs do not follow the tokens at
other positions as it was called, and do with the mask inverted.

That holds for any model, since nobody wants a sequence's result to depend on how long the others of its batch are, and
the remedy was seen to work. A causal model that is padded at the end never sees its padding, mask or not: no alarm.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ....records.probes import PaddingRecord
from .padded_tokens import PaddedTokens, padded_tokens
from .repeat_call import NotRepeatable, Repeater, Values

#: How much real positions change with the padding, as a share of the change by another sample. Measured: 0.002 to 0.9
#: without a mask (the least in an encoder that has just been initialised), exactly 0 in causal models padded at the
#: end. By judgement a hundred times the rounding of 1e-6: with the right mask it has to disappear as well.
_SEEN = 1e-4
#: What is left of a change that disappears. By judgement: a hundredth; measured with the right mask: exactly 0.
_NOTHING = 0.01
#: What masks of tokens are called, most usual first. Any other name is not tried: it may mean something else.
_MASKS = ("attention_mask", "padding_mask")


def misused_mask(repeater: Repeater) -> tuple[PaddingRecord | None, int]:
    """The record, if the caller is to blame, and for how many inputs this could be tested."""
    judged = 0
    for padded in padded_tokens(repeater.call):
        mask = _argument(repeater, padded)
        if mask is None:
            continue
        name, given = mask
        right = padded.real if given is None else padded.real.to(given.dtype)
        if given is not None and torch.equal(given, right):
            judged += 1
            continue  # as it should be
        inverted = given is not None and torch.equal(given.bool(), ~padded.real)
        if given is not None and not inverted and not bool(given.all()):
            continue  # it hides more, or less, for a reason that is not known here
        try:
            found = _compared(repeater, padded, name, right, inverted=inverted)
        except NotRepeatable:
            continue
        judged += 1
        if found is not None:
            return found, judged
    return None, judged


def _argument(repeater: Repeater, padded: PaddedTokens) -> tuple[str, Tensor | None] | None:
    """The name of the mask and what was given for it; None if the model takes none, or one of another kind."""
    if padded.mask is not None:
        return padded.mask.name, padded.mask.tensor
    call = repeater.call
    given = {leaf.name for leaf in call.leaves}
    try:
        takes = inspect.signature(call.module.forward).parameters
    except (TypeError, ValueError):
        return None
    name = next((each for each in _MASKS if each in takes), None)
    return None if name is None or name in given else (name, None)


def _compared(
    repeater: Repeater, padded: PaddedTokens, name: str, right: Tensor, *, inverted: bool
) -> PaddingRecord | None:
    call, mask = repeater.call, {name: right if right.dtype != torch.bool else right.long()}
    usual = _usual(repeater, padded)
    seen, cured = (_by_padding(repeater, padded, with_mask) / usual for with_mask in ({}, mask))
    reads_padding = seen > _SEEN and cured <= _NOTHING * seen
    hides = inverted and _hides(repeater, padded, mask)
    if not reads_padding and not hides:
        return None
    rows = int((~padded.real).any(1).sum())
    record = PaddingRecord(call.kind, name, padded.leaf.name, min(seen, 1.0) if reads_padding else 0.0, rows,
                           padded.real.shape[1], longer=False)  # fmt: skip
    record.misused = "inverted" if inverted else "missing"
    return record


def _hides(repeater: Repeater, padded: PaddedTokens, mask: Values) -> bool:
    """As it was called, outputs follow no token at another position; with the other mask they do."""
    as_given, as_meant = (_by_others(repeater, padded, with_mask) for with_mask in ({}, mask))
    return as_meant > 0 and as_given <= _NOTHING * as_meant


def _usual(repeater: Repeater, padded: PaddedTokens) -> float:
    """How much outputs change with another sample's inputs."""
    leaves = [leaf for leaf in repeater.call.leaves if leaf.tensor.ndim and len(leaf.tensor) == len(padded.real)]
    one, other = repeater.run(), repeater.run({leaf.name: leaf.tensor.roll(1, 0) for leaf in leaves})
    change = _largest(one, other, padded, padded.real)
    if not change > 0:
        raise NotRepeatable("no output follows its inputs")
    return change


def _by_padding(repeater: Repeater, padded: PaddedTokens, mask: Values) -> float:
    """How much outputs at real positions change when the padding is embedded as another token."""
    with repeater.call.also_given(mask):
        one = repeater.run()
        with _as_another_token(repeater.call.module, padded) as embedded:
            other = repeater.run()
    if not embedded:
        raise NotRepeatable("no embedding gets these tokens")
    return _largest(one, other, padded, padded.real)


def _by_others(repeater: Repeater, padded: PaddedTokens, mask: Values) -> float:
    """How much the last real output of padded rows, or that of the whole sequence, changes with a token before it."""
    tokens, real = padded.leaf.tensor, padded.real
    order = torch.arange(real.shape[1], device=real.device)
    first, last = torch.where(real, order, real.shape[1]).amin(1), torch.where(real, order, -1).amax(1)
    place = first + 1  # the first one may be where the whole sequence is summed up
    rows = (~real).any(1) & (place < last)
    if not bool(rows.any()):
        raise NotRepeatable("no padded sequence is long enough")
    changed = tokens.clone()
    values = torch.unique(tokens[real])
    now = tokens[rows, place[rows]]
    following = torch.searchsorted(values, now) + 1
    changed[rows, place[rows]] = values[following % len(values)]
    with repeater.call.also_given(mask):
        one, other = repeater.run(), repeater.run({padded.leaf.name: changed})
    where = rows[:, None] & (order == last[:, None])
    return _largest(one, other, padded, where)


def _largest(one: Values, other: Values, padded: PaddedTokens, where: Tensor) -> float:
    """The largest change of an output at these positions, or of one for a whole sequence that has padding."""
    samples, length = padded.real.shape
    padded_rows = (~padded.real).any(1)
    found = []
    for name, before in one.items():
        after = other.get(name)
        if after is None or after.shape != before.shape or not before.is_floating_point() or before.ndim < 2:
            continue
        if before.shape[0] != samples:
            continue
        change = (before.double() - after.double()).abs()
        if before.ndim > 2 and before.shape[1] == length:
            found.append(change[where & padded_rows[:, None]])
        elif before.ndim == 2 and before.shape[1] not in (length, length - 1):
            found.append(change[padded_rows])
    if not any(each.numel() for each in found) or not all(bool(torch.isfinite(each).all()) for each in found):
        raise NotRepeatable("no output belongs to positions or to whole sequences")
    return max(float(each.max()) for each in found if each.numel())


@contextmanager
def _as_another_token(model: nn.Module, padded: PaddedTokens) -> Iterator[list[bool]]:
    """Embeds padding as a token that is none. What is yielded stays empty if no embedding was given these tokens."""
    embedded: list[bool] = []
    row, column = (int(each[0]) for each in padded.real.nonzero(as_tuple=True))

    def hook(embedding: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        tokens = args[0] if args else None
        if not isinstance(tokens, Tensor) or tokens.shape != padded.real.shape:
            return None
        if not torch.equal(tokens.to(padded.leaf.tensor.dtype), padded.leaf.tensor):
            return None
        embedded.append(True)
        return torch.where(padded.real[..., None], output, output[row, column])

    handles = [m.register_forward_hook(hook) for m in model.modules() if isinstance(m, nn.Embedding)]
    try:
        yield embedded
    finally:
        for handle in handles:
            handle.remove()
