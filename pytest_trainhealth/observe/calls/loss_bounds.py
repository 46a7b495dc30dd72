"""The least value that a loss function can have with the targets it is given, and that of the best constant answer.

Both are computed from the targets themselves, because a ratio to the first loss means nothing: a first loss may be
sick, and a loss with smoothed labels cannot come near 0. Both are means over the terms of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ...records.loss_functions import BINARY, WITH_CLASSES


class Bounds(NamedTuple):
    """None where it is not known."""

    floor: float | None = None
    chance: float | None = None


#: Losses of a distance that is 0 where output and target are equal, with the functions that compute them.
_DISTANCES: dict[str, Callable[..., Tensor]] = {
    "mse_loss": F.mse_loss,
    "squared difference": F.mse_loss,
    "l1_loss": F.l1_loss,
    "absolute difference": F.l1_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
}
#: Those whose best constant answer is the mean; of the others it is the median, or near it.
_OF_THE_MEAN = {"mse_loss", "squared difference"}
#: Losses that are 0 at best, and about whose best constant answer nothing is claimed.
_AT_LEAST_ZERO = {"soft_margin_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_soft_margin_loss"}
_SETTINGS_OF_DISTANCES = ("beta", "delta")


def bounds(name: str, input: Tensor, target: Tensor, kwargs: Mapping[str, Any]) -> Bounds:
    """`kwargs`: the keywords that the function was called with: weights, smoothing, classes to ignore."""
    if not target.numel() or target.is_complex() or target.layout != torch.strided:
        return Bounds()
    if name in WITH_CLASSES:
        return _of_classes(input, target, kwargs)
    if name in BINARY:
        return _of_yes_or_no(target, kwargs)
    if name in _DISTANCES and kwargs.get("weight") is None:
        return _of_distances(name, input, target, kwargs)
    return Bounds(floor=0.0) if name in _AT_LEAST_ZERO else Bounds()


def bounds_of_choices(chosen: Tensor, classes: int) -> Bounds:
    """Of log-probabilities that are selected by hand, as `logp.gather(1, labels)` does it."""
    counts = torch.bincount(chosen.flatten().clamp(0, classes - 1), minlength=classes)
    return Bounds(0.0, _entropy(counts.double() / counts.sum()))


def _of_classes(input: Tensor, target: Tensor, kwargs: Mapping[str, Any]) -> Bounds:
    classes = input.shape[1 if input.ndim > 1 else 0]
    smoothing = float(kwargs.get("label_smoothing") or 0.0)
    weight = kwargs.get("weight")
    if target.is_floating_point():  # probabilities, along the same dimension as the scores
        if target.shape != input.shape or weight is not None:
            return Bounds()
        rows = target.detach().double().movedim(1 if input.ndim > 1 else 0, -1).reshape(-1, classes)
        rows = (1 - smoothing) * rows + smoothing / classes
        return Bounds(float(_entropies(rows).mean()), _entropy(rows.mean(0)))
    used = target[(target != int(kwargs.get("ignore_index", -100))) & (target >= 0) & (target < classes)].flatten()
    if not used.numel():
        return Bounds()
    counts = torch.bincount(used, minlength=classes).double()
    if isinstance(weight, Tensor):
        if smoothing:
            return Bounds()
        counts = counts * weight.detach().double().to(counts.device)
    shares = (1 - smoothing) * counts / counts.sum() + smoothing / classes
    hard = torch.zeros(classes, dtype=torch.double, device="cpu")
    hard[0] = 1.0
    return Bounds(_entropy((1 - smoothing) * hard + smoothing / classes), _entropy(shares))


def _of_yes_or_no(target: Tensor, kwargs: Mapping[str, Any]) -> Bounds:
    if kwargs.get("weight") is not None or bool(((target < 0) | (target > 1)).any()):
        return Bounds()
    values = target.detach().double()
    positive = kwargs.get("pos_weight")
    factor = 1.0 if positive is None else positive.detach().double()
    return Bounds(float(_two_sided(values, factor).mean()), float(_two_sided(_mean_of_samples(values), factor).mean()))


def _two_sided(share: Tensor, factor: Any) -> Tensor:
    """The loss of the best answer where `share` is the target, and ones count `factor` times."""
    answer = (factor * share / (factor * share + 1 - share)).clamp(0, 1)
    loss: Tensor = -(factor * torch.xlogy(share, answer) + torch.xlogy(1 - share, 1 - answer))
    return loss


def _of_distances(name: str, input: Tensor, target: Tensor, kwargs: Mapping[str, Any]) -> Bounds:
    if target.shape != input.shape and target.numel() != input.numel():
        return Bounds(floor=0.0)  # they broadcast: what the best answer is then is nobody's intention
    values = target.detach().double()
    centre = _mean_of_samples(values) if name in _OF_THE_MEAN else _median_of_samples(values)
    given = {key: kwargs[key] for key in _SETTINGS_OF_DISTANCES if key in kwargs}
    return Bounds(0.0, float(_DISTANCES[name](centre.expand_as(values), values, **given)))


def _mean_of_samples(values: Tensor) -> Tensor:
    return values.mean(0, keepdim=True) if values.ndim else values


def _median_of_samples(values: Tensor) -> Tensor:
    return values.median(0, keepdim=True).values if values.ndim else values


def _entropies(rows: Tensor) -> Tensor:
    return -torch.xlogy(rows, rows).sum(-1)


def _entropy(shares: Tensor) -> float:
    return float(_entropies(shares))
