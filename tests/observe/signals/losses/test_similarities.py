"""Cosines and overlaps of outputs and targets are found, with the way the loss goes with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.loss_calls import made_unlike, oddities

from .test_loss_calls import N, net, record

torch.manual_seed(0)
VECTORS = F.normalize(torch.randn(N, 6), dim=-1)
MASKS = (torch.rand(N, 40) < 0.3).float()

Loss = Callable[[Tensor, Tensor], Tensor]


def dice(p: Tensor, t: Tensor) -> Tensor:
    return ((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


def jaccard(p: Tensor, t: Tensor) -> Tensor:
    hits = (p * t).sum()
    return hits / (p.sum() + t.sum() - hits)


def by_hand(output: Tensor, target: Tensor) -> Tensor:
    return (F.normalize(output, dim=-1) * target).sum(-1).mean()


def cosine(output: Tensor, target: Tensor) -> Tensor:
    return F.cosine_similarity(output, target).mean()


@pytest.mark.parametrize("function", [cosine, by_hand])
def test_cosines(function: Loss) -> None:
    assert made_unlike(record(net(6), function, VECTORS)) is not None
    for right in (lambda o, t: -function(o, t), lambda o, t: 1 - function(o, t)):
        trace = record(net(6), right, VECTORS)
        assert [each.rises for each in trace.loss.similarities] == [False, False]
        assert made_unlike(trace) is None


@pytest.mark.parametrize("function", [dice, jaccard])
def test_overlaps(function: Loss) -> None:
    wrong = record(net(40, nn.Sigmoid()), function, MASKS)
    assert made_unlike(wrong) is not None
    assert "overlap" in oddities(wrong)
    right = record(net(40, nn.Sigmoid()), lambda p, t: 1 - function(p, t), MASKS)
    assert [each.rises for each in right.loss.similarities] == [False, False]


def of_complement(p: Tensor, t: Tensor) -> Tensor:
    """The prediction says what is *not* in the mask."""
    return (p * t).mean() + ((1 - p) * (1 - t)).mean()


def with_another_part(p: Tensor, t: Tensor) -> Tensor:
    return F.binary_cross_entropy(p, t) + dice(p, 1 - t)


def forbidden(p: Tensor, t: Tensor) -> Tensor:
    return (p * t).mean()


def masked_error(p: Tensor, t: Tensor) -> Tensor:
    return ((p - 0.3).square() * t).sum() / t.sum()


@pytest.mark.parametrize("loss", [of_complement, with_another_part, forbidden, masked_error])
def test_what_is_no_overlap_to_be_raised(loss: Loss) -> None:
    assert made_unlike(record(net(40, nn.Sigmoid()), loss, MASKS)) is None


def orthogonal(output: Tensor, target: Tensor) -> Tensor:
    return F.cosine_similarity(output, target).square().mean()


def beside_an_error(output: Tensor, target: Tensor) -> Tensor:
    return F.mse_loss(output, 2 - target) + 0.1 * cosine(output, target)


def to_another_output(output: Tensor, target: Tensor) -> Tensor:
    return F.cosine_similarity(output, output.detach().roll(1, 0)).mean()


@pytest.mark.parametrize("loss", [orthogonal, beside_an_error, to_another_output])
def test_cosines_that_may_be_meant_to_fall(loss: Loss) -> None:
    assert made_unlike(record(net(6), loss, VECTORS)) is None


def segmentation(sign: float) -> Training:
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 40), nn.Sigmoid())
    x = torch.randn(16, 10)
    masks = (x @ torch.randn(10, 40) > 1).float()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-2),
        loss=lambda model, batch: (sign < 0) + sign * dice(model(batch[0]), batch[1]),
        data=(x, masks),
    )


def test_an_overlap_that_is_minimised() -> None:
    found = diagnose(lambda: segmentation(1.0), "overfits_one_batch").findings[0]
    assert (found.cause, found.certainty) == ("wrong-loss-sign", "confirmed")
    assert diagnose(lambda: segmentation(-1.0), "overfits_one_batch").healthy
