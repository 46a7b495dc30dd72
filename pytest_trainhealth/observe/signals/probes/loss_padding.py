"""Does the loss count padding? Its gradient with respect to the model's output at padded positions shows it.

The position right after the end may be meant: a model that has to tell where a sequence ends predicts one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ....records.probes import PaddingRecord
from .padding import Padded, known_padding
from .repeat_call import Repeater, Values

#: Share of the padded positions that have a gradient. By judgement: a loss that leaves some of them out knows of them.
_COUNTED = 0.95
#: Fewest padded positions that are counted. By judgement: 8, so that a chance value is not taken for padding.
_FEWEST = 8


def padding_in_loss(
    repeater: Repeater, base: Values, gradients: Values, targets: list[Tensor]
) -> tuple[PaddingRecord | None, int]:
    """Padding that the loss counts, and for how many inputs this could be seen. `gradients`: of the loss, by output."""
    judged = 0
    for padded in known_padding(repeater):
        beyond = _beyond_the_end(padded.real)
        if int(beyond.sum()) < _FEWEST:
            continue
        for name, gradient in gradients.items():
            slope, output = by_position(gradient, padded), by_position(base.get(name), padded)
            if slope is None or output is None or slope.shape[:2] != padded.real.shape:
                continue
            judged += 1
            moves = slope.abs().flatten(2).amax(2) > 0
            share = float(moves[beyond].float().mean())
            filling = _filling(targets, padded, beyond)
            if share < _COUNTED or filling is None or _is_blank(output, beyond):
                continue
            return _record(repeater, padded, moves, filling), judged
    return None, judged


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
    """Padded positions, except the first of each sequence."""
    nothing = ~real
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
        "padding_idx" if known_from is None else known_from.name,
        padded.leaf.name,
        counted / max(1, int(moves.sum())),
        int((~padded.real).any(1).sum()),
        padded.length,
    )
    record.known_from = "padding_idx" if known_from is None else "lengths" if known_from.tensor.ndim == 1 else "mask"
    record.in_loss, record.counted, record.positions = True, counted, int(moves.sum())
    record.filling = filling
    return record
