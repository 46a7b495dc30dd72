"""Likelihoods of labels in losses that are written by hand, with the right sign and with the wrong one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.loss_calls import flipped

from .test_loss_calls import LABELS, N, net, record

Loss = Callable[[Tensor, Tensor], Tensor]
YES = (LABELS > 0).float()[:, None]


def cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    p = torch.sigmoid(output)
    return (y * torch.log(p + 1e-8) + (1 - y) * torch.log(1 - p + 1e-8)).mean()


def of_logits(output: Tensor, y: Tensor) -> Tensor:
    return (y * F.logsigmoid(output) + (1 - y) * torch.log(1 - output.sigmoid())).mean()


def focal(output: Tensor, y: Tensor) -> Tensor:
    p = torch.sigmoid(output)
    right = torch.where(y == 1, p, 1 - p)
    return ((1 - right) ** 2 * torch.log(right.clamp(1e-6))).mean()


def picked(output: Tensor, labels: Tensor) -> Tensor:
    return torch.log(F.softmax(output, 1)[torch.arange(N), labels] + 1e-9).mean()


CASES: list[tuple[Loss, int, Tensor]] = [
    (cross_entropy, 1, YES),
    (of_logits, 1, YES),
    (focal, 1, YES),
    (picked, 3, LABELS),
]


@pytest.mark.parametrize(("loss", "outputs", "target"), CASES, ids=[case[0].__name__ for case in CASES])
def test_the_sign_of_a_likelihood(loss: Loss, outputs: int, target: Tensor) -> None:
    assert flipped(record(net(outputs), loss, target)) is not None
    assert flipped(record(net(outputs), lambda o, y: -loss(o, y), target)) is None


def masked(output: Tensor, labels: Tensor) -> Tensor:
    mask = (torch.arange(N) % 4 > 0).float()
    return (torch.distributions.Categorical(logits=output).log_prob(labels) * mask).sum() / mask.sum()


def test_a_mask_is_no_cost() -> None:
    assert flipped(record(net(3), masked, LABELS)) is not None


def cost(output: Tensor, labels: Tensor) -> Tensor:
    """What an action costs makes it less likely."""
    return (torch.log(F.softmax(output, 1)[torch.arange(N), labels]) * torch.linspace(0.1, 2, N)).mean()


def same_cost(output: Tensor, labels: Tensor) -> Tensor:
    chosen = F.log_softmax(output, 1).gather(1, labels[:, None]).squeeze(1)
    return (chosen * torch.full((N,), 2.0)).mean()


def cost_of_drawn(output: Tensor, labels: Tensor) -> Tensor:
    """Zeros and ones are costs where actions are drawn."""
    policy = torch.distributions.Categorical(logits=output)
    return (policy.log_prob(policy.sample()) * (torch.arange(N) % 2).float()).mean()


def beside_an_error(output: Tensor, labels: Tensor) -> Tensor:
    return picked(output, labels) + F.mse_loss(output[:, 0], labels.float())


def complementary(output: Tensor, labels: Tensor) -> Tensor:
    """Labels say which class it is not."""
    return -torch.log(1 - F.softmax(output, 1)[torch.arange(N), labels]).mean()


@pytest.mark.parametrize(
    "loss", [cost, same_cost, cost_of_drawn, beside_an_error, complementary], ids=lambda f: f.__name__
)
def test_likelihoods_that_may_be_meant_to_fall(loss: Loss) -> None:
    assert flipped(record(net(3), loss, LABELS)) is None


class Learnt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Parameter(6.0 * F.one_hot(LABELS, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.scores


def test_what_was_learnt_may_be_meant_to_be_forgotten() -> None:
    assert flipped(record(Learnt(), picked, LABELS)) is None


def classifier(sign: float) -> Training:
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    x = torch.randn(32, 10)
    target = (x[:, :2].sum(1, keepdim=True) > 0).float()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-2),
        loss=lambda model, batch: sign * cross_entropy(model(batch[0]), batch[1]),
        data=(x, target),
    )


def test_a_cross_entropy_by_hand_without_its_minus() -> None:
    found = diagnose(lambda: classifier(1.0), "overfits_one_batch").findings[0]
    assert (found.cause, found.certainty) == ("wrong-loss-sign", "confirmed")
    assert diagnose(lambda: classifier(-1.0), "overfits_one_batch").healthy
