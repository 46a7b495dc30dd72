"""Does the loss count padding? Its gradient with respect to the model's output at padded positions shows it.

The position right after the end may be meant: a model that has to tell where a sequence ends predicts one of them. Nor
is anything said where the token that fills up the rows is the one that ends them: to give it again may be learnt, and
who made the vocabulary wanted it so.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ....records.probes import PaddingRecord
from .influence import is_mask
from .padded_tokens import ends_with, padded_tokens
from .padding import Padded, known_padding
from .repeat_call import Call, Repeater, Values
from .use_of_labels import counts_padding

#: Share of the padded positions that have a gradient. By judgement: a loss that leaves some of them out knows of them.
_COUNTED = 0.95
#: Fewest padded positions that are counted. By judgement: 8, so that a chance value is not taken for padding.
_FEWEST = 8


def padding_in_loss(
    repeater: Repeater, base: Values, gradients: Values, targets: list[Tensor]
) -> tuple[PaddingRecord | None, int]:
    """Padding that the loss counts, and for how many inputs this could be seen. `gradients`: of the loss, by output."""
    judged = 0
    for padded in (*known_padding(repeater), *_at_either_end(repeater.call)):
        for name, gradient in gradients.items():
            slope, output = by_position(gradient, padded), by_position(base.get(name), padded)
            if slope is None or output is None or slope.shape[:2] != padded.real.shape:
                continue
            moves = slope.abs().flatten(2).amax(2) > 0
            beyond = _beyond_the_end(padded.real)
            beyond[:, -1] &= moves[:, -1].any()  # where each position predicts the next, the last has no target
            if int(beyond.sum()) < _FEWEST:
                continue
            judged += 1
            share = float(moves[beyond].float().mean())
            filling = _filling(targets, padded, beyond)
            if share < _COUNTED or filling is None or _is_blank(output, beyond):
                continue
            if _ends_sequences(repeater.call, padded, filling):
                continue
            return _record(repeater, padded, moves, filling), judged
    return (None, judged) if judged or targets else _by_asking(repeater)


def _by_asking(repeater: Repeater) -> tuple[PaddingRecord | None, int]:
    """Where no loss function was seen: labels that are filled up like the tokens, and that the model counts."""
    call, judged = repeater.call, 0
    for tokens in padded_tokens(call):
        padded = Padded(tokens.leaf, tokens.real, said_by=tokens.said_by)
        beyond = _beyond_the_end(tokens.real)
        name = _labels(call, padded, tokens.token)
        labels = next((leaf for leaf in call.leaves if leaf.name == name), None)
        if labels is None or int(beyond.sum()) < _FEWEST:
            continue
        judged += 1
        if not _ends_sequences(call, padded, tokens.token) and counts_padding(repeater, tokens, labels, beyond):
            return _record(repeater, padded, labels.tensor >= 0, tokens.token), judged
    return None, judged


def _at_either_end(call: Call) -> Iterator[Padded]:
    """Tokens that a mask or the model itself shows to be padding, also in front of the sequences."""
    for tokens in padded_tokens(call):
        marked = tokens.mask is not None and torch.equal(tokens.mask.tensor.bool(), tokens.real)
        yield Padded(tokens.leaf, tokens.real, tokens.mask if marked else None, said_by=tokens.said_by)


def _ends_sequences(call: Call, padded: Padded, filling: float) -> bool:
    """The token that fills up the rows is also the last real one of each, or the model says that it ends sequences."""
    tokens, real = padded.leaf.tensor, padded.real
    if tokens.shape != real.shape or not bool((tokens[~real] == filling).all()):
        return False
    order = torch.arange(real.shape[1], device=real.device)
    last = tokens.gather(1, torch.where(real, order, -1).amax(1, keepdim=True))[(~real).any(1)]
    return ends_with(call.module, filling) or bool((last == filling).all())


def by_position(output: Tensor | None, padded: Padded) -> Tensor | None:
    """The output as (samples, positions, values), if it has something for each position."""
    if output is None or not output.is_floating_point():
        return None
    samples, length = padded.real.shape
    shape = tuple(output.shape)
    if shape[:2] == (samples, length):
        return output.reshape(samples, length, -1)
    if shape[:2] == (length, samples) and output.ndim > 2:
        return output.transpose(0, 1).reshape(samples, length, -1)
    if output.ndim == 2 and shape[0] == samples * length:
        return output.reshape(samples, length, -1)
    if output.ndim == 3 and shape[0] == samples and shape[2] == length:
        return output.transpose(1, 2)
    return None


def _beyond_the_end(real: Tensor) -> Tensor:
    """Padded positions, except the one next to each sequence: the first after it, or the last before it."""
    nothing = ~real
    if bool(real[:, -1].all()):  # before it
        return nothing & torch.cat([nothing[:, 1:], torch.zeros_like(nothing[:, :1])], 1)
    return nothing & torch.cat([torch.zeros_like(nothing[:, :1]), nothing[:, :-1]], 1)


def _filling(targets: list[Tensor], padded: Padded, beyond: Tensor) -> float | None:
    """The value of the targets at all padded positions, where there are targets for each, and others elsewhere."""
    for target in _aligned(targets, beyond):
        filling, others = target[beyond], target[padded.real]
        if bool((filling == filling[:1]).all()) and bool((others != others[:1]).any()):
            same_as_input = padded.leaf.tensor.shape == target.shape and torch.equal(padded.leaf.tensor, target)
            restores = padded.known_from is None and same_as_input  # an autoencoder restores all that it was given
            return None if restores else float(filling.flatten()[0]) or 0.0
    return None


def _aligned(targets: list[Tensor], beyond: Tensor) -> Iterator[Tensor]:
    samples, length = beyond.shape
    for target in targets:
        if tuple(target.shape[:2]) == (length, samples) != (samples, length):
            yield target.transpose(0, 1)
        elif target.ndim and target.numel() and target.numel() % beyond.numel() == 0:
            yield target.reshape(samples, length, -1).squeeze(-1)


def _is_blank(output: Tensor, beyond: Tensor) -> bool:
    """The model itself sets its output to one value there."""
    values = output[beyond]
    return bool((values == values[:1]).all())


def _record(repeater: Repeater, padded: Padded, moves: Tensor, filling: float) -> PaddingRecord:
    call, known_from = repeater.call, padded.known_from
    counted = int((moves & ~padded.real).sum())
    record = PaddingRecord(
        call.kind,
        padded.said_by if known_from is None else known_from.name,
        padded.leaf.name,
        counted / max(1, int(moves.sum())),
        int((~padded.real).any(1).sum()),
        padded.length,
    )
    record.known_from = padded.said_by if known_from is None else "lengths" if known_from.tensor.ndim == 1 else "mask"
    record.labels = _labels(call, padded, filling)
    record.in_loss, record.counted, record.positions = True, counted, int(moves.sum())
    record.filling = filling
    return record


def _labels(call: Call, padded: Padded, filling: float) -> str:
    """The argument that brings the targets, if there is one: whole numbers like the tokens, filled up like them."""
    for leaf in call.leaves:
        values = leaf.tensor
        if leaf is padded.leaf or is_mask(leaf, call.leaves) or values.shape != padded.real.shape:
            continue
        if not values.is_floating_point() and bool((values[~padded.real] == filling).all()):
            return leaf.name
    return ""
