"""A mask, or lengths, that a model is given and does not read, while it reads what they mark.

Sequences kept in buffers of a fixed size are not filled up with zeros: what comes after the end is left from before,
and looks like the rest. So the probe puts other samples' values there, and real positions, or the outcome for the whole
sequence, must not change with them. That alone may be meant, as nobody knows what a mask is for. But a mask that the
model takes as an argument, and that has no influence on any output, whatever its weights, is one that was forgotten.
A causal model, or one that looks at each position by itself, needs no mask, and no output of its changes here.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ....records.probes import PaddingRecord
from ...run.run import Run
from .influence import forward_of, has_none, is_mask
from .padding import SHARE, Padded, Probe, first_to_change, largest_share
from .repeat_call import Leaf, NotRepeatable, Repeater
from .steps_of_a_call import operations


def stale_padding(repeater: Repeater, base: dict[str, Tensor], run: Run) -> tuple[PaddingRecord | None, int]:
    """The record, if what a mask marks is read and the mask is not, and for how many inputs this could be tested."""
    judged = 0
    for padded in _marked(repeater.call.leaves):
        probe = _other_values(padded)
        try:
            other = repeater.run({leaf.name: leaf.tensor.roll(1, 0) for leaf in _of_samples(repeater, padded)})
            after = repeater.run(probe.changes)
        except NotRepeatable:
            continue
        share = largest_share(base, after, other, padded, probe)
        judged += share is not None
        assert padded.known_from is not None
        if share is None or share <= SHARE or not has_none(repeater, base, padded.known_from, _others(padded)):
            continue
        first = first_to_change(repeater, operations(repeater, {}, run), padded, probe, run)
        if first is not None and "conv" in first.name:
            continue  # convolutions reach beyond the end of a sequence, as expected
        call = repeater.call
        record = PaddingRecord(
            *(call.kind, padded.known_from.name, padded.leaf.name, share),
            *(int((~padded.real).any(1).sum()), padded.length, call.made_by),
        )
        record.known_from = "lengths" if padded.known_from.tensor.ndim == 1 else "mask"
        record.longer, record.stale, record.unused = False, True, True
        record.operation = first.name if first is not None else ""
        record.place = (first.place if first is not None else None) or forward_of(call.module)
        return record, judged
    return None, judged


def _of_samples(repeater: Repeater, padded: Padded) -> list[Leaf]:
    return [leaf for leaf in repeater.call.leaves if leaf.tensor.ndim and len(leaf.tensor) == len(padded.real)]


def _marked(leaves: list[Leaf]) -> Iterator[Padded]:
    """Sequences whose end an argument tells, and that go on after it. Only where it can be about no other input."""
    for mark in leaves:
        if not mark.direct or mark.tensor.ndim not in (1, 2):
            continue
        own = [leaf for leaf in leaves if _may_belong_to(mark, leaf) and not is_mask(leaf, leaves)]
        if len(own) != 1:
            continue
        for real in _real(mark, own[0].tensor, leaves):
            if _ends_early(real) and not _is_filled(own[0].tensor[~real]):
                yield Padded(own[0], real, mark)


def _may_belong_to(mark: Leaf, leaf: Leaf) -> bool:
    if leaf is mark or leaf.tensor.ndim < 2 or leaf.tensor.shape[1] < 2:
        return False
    return leaf.tensor.shape[: mark.tensor.ndim] == mark.tensor.shape


def _real(mark: Leaf, values: Tensor, leaves: list[Leaf]) -> Iterator[Tensor]:
    given = mark.tensor
    if given.ndim == 2 and is_mask(mark, leaves):
        yield from (given.bool(), ~given.bool())
        return
    if given.ndim == 2 or given.is_floating_point() or "len" not in mark.name.lower():
        return
    if bool((given > 0).all()) and int(given.max()) <= values.shape[1]:
        yield torch.arange(values.shape[1], device=values.device) < given.to(values.device)[:, None]


def _ends_early(real: Tensor) -> bool:
    """Sequences of different lengths that begin at the first position."""
    lengths = real.sum(1)
    from_the_first = bool(real[:, 0].all()) and bool((real.long().diff(dim=1) <= 0).all())
    return from_the_first and bool((~real).any()) and bool((lengths != lengths[0]).any())


def _is_filled(rest: Tensor) -> bool:
    return bool((rest == rest[:1]).all())


def _other_values(padded: Padded) -> Probe:
    values = padded.leaf.tensor
    real = padded.real.reshape(*padded.real.shape, *[1] * (values.ndim - 2))
    return Probe({padded.leaf.name: torch.where(real, values, values.roll(1, 0))}, longer=False)


def _others(padded: Padded) -> list[Tensor]:
    """The mark inverted, and that of other samples."""
    assert padded.known_from is not None
    given = padded.known_from.tensor
    if given.ndim == 1:
        return [torch.where(given > 1, given - 1, given), given.roll(1, 0)]
    return [~given if given.dtype == torch.bool else 1 - given, given.roll(1, 0)]
