"""Does padding change a model's output at real positions?

Padding is recognised by a mask, by lengths, or by the `padding_idx` of an embedding. The probe appends more of it to
the sequences; a model with a fixed number of positions gets another embedding of the padding instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ....records.probes import PaddingRecord
from ...run.run import Run
from .influence import forward_of, is_mask
from .repeat_call import Leaf, NotRepeatable, Repeater, Values
from .steps_of_a_call import Step, operations

#: How much real positions change, as a share of the change by another sample. Measured: masked encoders and packed
#: sequences below 1e-6, attention to padding 0.037 and more, a recurrent net that runs over it 0.04, a mean 0.19.
SHARE = 0.01
#: The same with convolutions, which reach into the padding at the edge: up to 0.012 (four of width 5, 12 positions).
_SHARE_WITH_CONVOLUTIONS = 0.08
#: At least one position in 4 is padding. By judgement: convolutions of usual width do not reach across a quarter of a
#: sequence.
_PADDING = 4
#: Relative to the largest value: a change beyond rounding, which is 1e-6 and less (see above).
_CHANGED = 1e-3
#: Attention written by hand ends with one of these; the result with one row per position may come a few reshapes later.
_ENDS_OF_ATTENTION = {
    *("matmul", "__matmul__", "bmm", "einsum"),
    *("reshape", "view", "flatten", "transpose", "permute", "contiguous", "linear"),
}


@dataclass
class Padded:
    """Sequences with padding at the end, and the input that marks it."""

    leaf: Leaf
    #: (samples, positions)
    real: Tensor
    known_from: Leaf | None = None
    embedding: nn.Embedding | None = None
    #: Who says it, where no input does.
    said_by: str = "padding_idx"

    @property
    def length(self) -> int:
        return self.real.shape[1]

    @property
    def rows(self) -> Tensor:
        """Samples with so much padding that convolutions do not reach its end."""
        return (~self.real).sum(1) >= max(1, self.length // _PADDING)


@dataclass
class Probe:
    """What is changed: the inputs, or something inside the model during the call."""

    changes: Values = field(default_factory=dict)
    inside: Callable[[], AbstractContextManager[None]] = nullcontext
    longer: bool = True


def padding(repeater: Repeater, base: dict[str, Tensor], run: Run) -> tuple[PaddingRecord | None, int]:
    """What other padding changes, and for how many inputs this could be tested."""
    call, judged = repeater.call, 0
    worst: PaddingRecord | None = None
    seen: set[str] = set()
    for padded in known_padding(repeater):
        if padded.embedding is not None and padded.leaf.name in seen:
            continue  # a mask is more reliable
        probe, share = _tried(repeater, base, padded)
        if probe is None:
            continue
        seen.add(padded.leaf.name)
        judged += 1
        if share <= SHARE or (worst is not None and worst.share >= share):
            continue
        before = operations(repeater, {}, run)
        if share <= _SHARE_WITH_CONVOLUTIONS and any("conv" in s.name for s in before):
            continue
        first = first_to_change(repeater, before, padded, probe, run)
        if first is not None and "conv" in first.name:
            continue  # convolutions reach beyond the end of a sequence, as expected
        if padded.known_from is None and not _is_attention(first, before, padded.length):
            continue  # without a mask, reading zeros as padding may be intended; attending to them is not
        worst = _record(repeater, base, padded, probe, share)
        worst.operation = first.name if first is not None else ""
        worst.place = (first.place if first is not None else None) or forward_of(call.module)
    return worst, judged


def known_padding(repeater: Repeater) -> Iterator[Padded]:
    """Inputs with padding at the end: where a mask, lengths, or the `padding_idx` of an embedding say that it is."""
    leaves = repeater.call.leaves
    yield from (*_by_mask(leaves), *_by_length(leaves), *_by_embedding(repeater))


def _record(repeater: Repeater, base: dict[str, Tensor], padded: Padded, probe: Probe, share: float) -> PaddingRecord:
    call, known_from = repeater.call, padded.known_from
    name = "padding_idx" if known_from is None else known_from.name
    record = PaddingRecord(
        call.kind, name, padded.leaf.name, share, int((~padded.real).any(1).sum()), padded.length, call.made_by
    )
    record.longer = probe.longer
    record.known_from = "padding_idx" if known_from is None else "lengths" if known_from.tensor.ndim == 1 else "mask"
    record.unused = known_from is not None and _is_unused(repeater, base, known_from)
    return record


def _by_mask(leaves: list[Leaf]) -> Iterator[Padded]:
    for mask in leaves:
        if mask.tensor.ndim != 2 or not is_mask(mask, leaves):
            continue
        for leaf in leaves:
            if leaf is mask or leaf.tensor.shape[:2] != mask.tensor.shape or is_mask(leaf, leaves):
                continue
            for real in (mask.tensor.bool(), ~mask.tensor.bool()):
                if _is_padding(real, leaf.tensor):
                    yield Padded(leaf, real, mask)
                    break


def _by_length(leaves: list[Leaf]) -> Iterator[Padded]:
    for lengths in leaves:
        if lengths.tensor.ndim != 1 or lengths.tensor.is_floating_point() or "len" not in lengths.name.lower():
            continue
        for leaf in leaves:
            values = leaf.tensor
            if values.ndim < 2 or len(values) != len(lengths.tensor) or int(lengths.tensor.max()) > values.shape[1]:
                continue
            real = torch.arange(values.shape[1], device=values.device) < lengths.tensor.to(values.device)[:, None]
            if not is_mask(leaf, leaves) and _is_padding(real, values):
                yield Padded(leaf, real, lengths)


def _by_embedding(repeater: Repeater) -> Iterator[Padded]:
    embeddings = [m for m in repeater.call.module.modules() if isinstance(m, nn.Embedding)]
    for leaf in repeater.call.leaves:
        if leaf.tensor.ndim != 2 or leaf.tensor.dtype not in (torch.int64, torch.int32):
            continue
        for embedding in embeddings:
            real = leaf.tensor != embedding.padding_idx if embedding.padding_idx is not None else None
            if real is not None and _is_padding(real, leaf.tensor) and int((~real).any(1).sum()) > 1:
                yield Padded(leaf, real, embedding=embedding)
                break


def _is_padding(real: Tensor, values: Tensor) -> bool:
    """The other positions hold a single value, and come after the sequences."""
    if not bool((~real).any()) or not bool(real[:, 0].all()):
        return False
    at_the_end = bool((real.long().diff(dim=1) <= 0).all())
    filling = values[~real]
    return at_the_end and bool((filling == filling[:1]).all()) and bool((values[real] != values[real][:1]).any())


def _longer(tensor: Tensor, real: Tensor, square: bool) -> Tensor:
    """Twice as long: appended is the padding at the end of the sample that has the most of it."""
    most = int((~real).sum(1).argmax())
    longer = torch.cat([tensor, tensor[most, -1].expand_as(tensor)], 1)
    if square and tensor.ndim > 2 and tensor.shape[2] == tensor.shape[1]:  # a mask for all pairs of positions
        longer = torch.cat([longer, longer[most, :, -1:].expand_as(longer)], 2)
    return longer


def _all_longer(repeater: Repeater, real: Tensor, square: bool) -> Values:
    leaves = [leaf for leaf in repeater.call.leaves if leaf.tensor.shape[:2] == real.shape]
    return {leaf.name: _longer(leaf.tensor, real, square) for leaf in leaves}


def _probes(repeater: Repeater, padded: Padded) -> Iterator[Probe]:
    leaves = [leaf for leaf in repeater.call.leaves if leaf.tensor.shape[:2] == padded.real.shape]
    yield Probe(_all_longer(repeater, padded.real, False))
    if any(leaf.tensor.ndim > 2 and leaf.tensor.shape[2] == padded.length for leaf in leaves):
        yield Probe(_all_longer(repeater, padded.real, True))
    if padded.embedding is not None:
        yield Probe(inside=lambda: _other_padding(padded), longer=False)


@contextmanager
def _other_padding(padded: Padded) -> Iterator[None]:
    """Embeds padding like the first token of the first sequence."""

    def hook(embedding: nn.Embedding, args: tuple[Any, ...], output: Tensor) -> Tensor | None:
        tokens = args[0] if args else None
        if not isinstance(tokens, Tensor) or not torch.equal(tokens, padded.leaf.tensor):
            return None
        with torch._C.DisableTorchFunction():  # not an operation of the model
            return torch.where(padded.real[..., None], output, output[0, 0])

    assert padded.embedding is not None
    handle = padded.embedding.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _tried(repeater: Repeater, base: dict[str, Tensor], padded: Padded) -> tuple[Probe | None, float]:
    """The first probe that the model accepts, and how much it changes."""
    if not bool(padded.rows.any()):
        return None, 0.0
    leaves = [leaf for leaf in repeater.call.leaves if leaf.tensor.ndim and len(leaf.tensor) == len(padded.real)]
    try:
        other = repeater.run({leaf.name: leaf.tensor.roll(1, 0) for leaf in leaves})
    except NotRepeatable:
        return None, 0.0
    for probe in _probes(repeater, padded):
        try:
            with probe.inside():
                after = repeater.run(probe.changes)
        except NotRepeatable:
            continue
        share = largest_share(base, after, other, padded, probe)
        if share is not None:
            return probe, share
    return None, 0.0


def largest_share(
    base: dict[str, Tensor], after: dict[str, Tensor], other: dict[str, Tensor], padded: Padded, probe: Probe
) -> float | None:
    """Over all outputs that the runs have in common. None if it can be seen in none of them."""
    shares = [
        share
        for name, before in base.items()
        if name in after and name in other
        for share in [share_of_change(before, after[name], other[name], padded, probe)]
        if share is not None
    ]
    return max(shares, default=None)


def share_of_change(one: Tensor, two: Tensor, other: Tensor, padded: Padded, probe: Probe) -> float | None:
    """The largest change at real positions, or of an output for the whole sequence. None if that cannot be seen."""
    length, where = padded.length, padded.rows
    if not one.is_floating_point() or not one.ndim or one.shape[0] != len(padded.real) or one.shape[0] in one.shape[1:]:
        return None
    if one.ndim > 2 and one.shape[1] == length and two.ndim == one.ndim and two.shape[1] >= length:
        two, where = two[:, :length], padded.rows[:, None] & padded.real
    elif not probe.longer and not _is_of_sequences(one, length):
        return None  # it may contain positions, including those of padding
    if one.shape != two.shape or one.shape != other.shape:
        return None
    usual = float((other - one).abs().max())
    if not usual > 0 or not bool(torch.isfinite(two[where]).all()):
        return None
    return float((two - one).abs()[where].max()) / usual


def _is_of_sequences(output: Tensor, length: int) -> bool:
    width = output.shape[1] if output.ndim == 2 else 1
    return output.ndim <= 2 and (width < length - 1 or (width > length + 1 and width % length != 0))


def _is_unused(repeater: Repeater, base: dict[str, Tensor], known_from: Leaf) -> bool:
    given = known_from.tensor
    if given.ndim == 1:
        other = torch.where(given > 1, given - 1, given)
    else:
        other = ~given if given.dtype == torch.bool else 1 - given
    try:
        after = repeater.run({known_from.name: other})
    except NotRepeatable:
        return False
    return all(torch.equal(t, after[name]) for name, t in base.items() if name in after)


def _is_attention(first: Step | None, steps: list[Step], length: int) -> bool:
    if first is None or "attention" in first.name:
        return first is not None
    before = steps[: next(n for n, s in enumerate(steps) if s is first)]
    squares = ((length, length), (length + 1, length + 1))
    weights = any("softmax" in s.name and any(t.shape[-2:] in squares for t in s.results) for s in before)
    return first.name in _ENDS_OF_ATTENTION and weights


def first_to_change(repeater: Repeater, before: list[Step], padded: Padded, probe: Probe, run: Run) -> Step | None:
    """The first operation whose result changes at real positions, or for the whole sequence."""
    try:
        with probe.inside():
            after = operations(repeater, probe.changes, run)
    except NotRepeatable:
        return None
    if [s.name for s in before] != [s.name for s in after]:
        return None
    for one, other in zip(before, after, strict=True):
        if any(_differ(a, b, padded) for a, b in zip(one.results, other.results, strict=False)):
            return one
    return None


def _differ(a: Tensor, b: Tensor, padded: Padded) -> bool:
    real, rows = padded.real, padded.rows
    if padded.length not in a.shape and padded.length + 1 in a.shape:
        real = nn.functional.pad(real, (1, 0), value=True)  # a class token in front
    samples, length = real.shape
    if a.ndim != b.ndim or a.ndim < 2:
        return False
    if a.ndim > 2 and a.shape[:2] == (length, samples) and length != samples:
        a, b = a.transpose(0, 1), b.transpose(0, 1)  # time first
    elif a.ndim == 3 and a.shape == b.shape and a.shape[1] == samples and length not in a.shape:
        a, b = a.transpose(0, 1), b.transpose(0, 1)  # last states, one per layer
    if a.shape[0] != samples or b.shape[0] != samples:
        return False
    if a.ndim == 3 and a.shape[2] == length and b.shape[2] - length in (0, padded.length):
        a, b = a.transpose(1, 2), b.transpose(1, 2)  # channels before positions
    if length in a.shape[2:]:
        return False
    if a.shape == b.shape and length not in a.shape:
        change, scale = (a - b)[rows], a[rows]
    elif a.shape[:2] == real.shape and b[:, :length].shape == a.shape:
        where = rows[:, None] & real
        change, scale = (a - b[:, :length])[where], a[where]
    else:
        return False
    return float(change.abs().max()) > _CHANGED * float(scale.abs().max()) > 0
