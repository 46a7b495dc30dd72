"""Distances that are given to a softmax as scores: the right class would be the one furthest away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.loss_calls import oddities, repelled

from .test_loss_calls import LABELS, net, record

Distance = Callable[[Tensor, Tensor], Tensor]

DISTANCES: dict[str, Distance] = {
    "cdist": torch.cdist,
    "squared": lambda a, b: torch.cdist(a, b).pow(2) / 0.5,
    "by hand": lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1),
    "a norm": lambda a, b: (a.unsqueeze(1) - b.unsqueeze(0)).norm(dim=-1),
}


def prototypes(output: Tensor, labels: Tensor) -> Tensor:
    return torch.stack([output[labels == each].mean(0) for each in range(3)])


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_sign_of_distances(name: str, sign: int) -> None:
    def scores(output: Tensor, labels: Tensor) -> Tensor:
        return sign * DISTANCES[name](output, prototypes(output, labels))

    def entropy(output: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(scores(output, labels), labels)

    def likelihood(output: Tensor, labels: Tensor) -> Tensor:
        return -F.log_softmax(scores(output, labels), 1).gather(1, labels[:, None]).mean()

    for loss in (entropy, likelihood):
        trace = record(net(4), loss, LABELS)
        assert (repelled(trace) is not None) == (sign > 0)
        assert ("further away" in oddities(trace)) == (sign > 0)


class Reciprocal(nn.Module):
    """The points of a class are where its samples are not."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.points = nn.Linear(4, 6), nn.Parameter(torch.randn(3, 6))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cdist(self.embed(x), F.normalize(self.points, dim=-1))


def test_learnt_points_may_be_meant_to_be_kept_away_from() -> None:
    assert repelled(record(Reciprocal(), F.cross_entropy, LABELS)) is None


def test_another_layer_may_turn_distances() -> None:
    turn = nn.Linear(3, 3)

    def loss(output: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(turn(torch.cdist(output, prototypes(output, labels))), labels)

    assert repelled(record(net(4), loss, LABELS)) is None


def episodes(sign: float) -> Training:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
    centres, labels = 2 * torch.randn(5, 8), torch.arange(40) % 5
    support, query = (centres[labels] + torch.randn(40, 8) for _ in range(2))

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        own = model(batch[0])
        means = torch.stack([own[batch[2] == each].mean(0) for each in range(5)])
        return F.cross_entropy(sign * torch.cdist(model(batch[1]), means), batch[2])

    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), loss, data=(support, query, labels))


def test_episodes_whose_distances_lack_a_minus() -> None:
    found = diagnose(lambda: episodes(1.0), "overfits_one_batch").findings[0]
    assert (found.cause, found.certainty) == ("wrong-loss-sign", "confirmed")
    assert diagnose(lambda: episodes(-1.0), "overfits_one_batch").healthy
