"""Probabilities that are mixed before a loss applies its sigmoid or softmax to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.calls.mixed_probabilities import mixed_from

MIXED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], tuple[str, ...]]] = {
    "a mean": (lambda x, w: x.sigmoid().mean(1), ("sigmoid",)),
    "by attention": (lambda x, w: (x.sigmoid() * w.softmax(1)).sum(1), ("sigmoid", "softmax")),
    "the largest": (lambda x, w: F.max_pool1d(x.sigmoid().transpose(1, 2), 5).squeeze(2), ("sigmoid",)),
    "noisy or": (lambda x, w: 1 - (1 - x.sigmoid()).prod(1), ("sigmoid",)),
    "scores": (lambda x, w: x.mean(1), ()),
    "a gate": (lambda x, w: (x * w.sigmoid()).sum(1), ()),
    "attention over scores": (lambda x, w: (x * w.softmax(1)).sum(1), ()),
    "a layer behind": (lambda x, w: F.linear(x.sigmoid().mean(1), torch.eye(3)), ()),
    "no graph": (lambda x, w: x.detach().sigmoid().mean(1), ()),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_a_tensor_is_a_mix_of(name: str) -> None:
    mix, expected = MIXED[name]
    x, w = nn.Linear(4, 3)(torch.randn(8, 5, 4)), nn.Linear(4, 3)(torch.randn(8, 5, 4))
    assert mixed_from(mix(x, w)) == expected


class Pooled(nn.Module):
    def __init__(self, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.enter, self.leave, self.activation = nn.Linear(4, 32), nn.Linear(32, 3), activation

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.leave(self.enter(x).relu())).mean(1)


def training(activation: Callable[[Tensor], Tensor], criterion: Callable[[Tensor, Tensor], Tensor]) -> Training:
    model, x = Pooled(activation), torch.randn(16, 1, 4) + 0.1 * torch.randn(16, 5, 4)
    labels = x.mean(1)[:, :3].argmax(1)
    target = labels if criterion is F.cross_entropy else F.one_hot(labels, 3).float()
    return Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=criterion, data=(x, target))


def first(activation: Callable[[Tensor], Tensor], criterion: Callable[[Tensor, Tensor], Tensor]) -> tuple[str, ...]:
    report = diagnose(lambda: training(activation, criterion), "overfits_one_batch")
    return tuple(f"{f.cause} {f.certainty}" for f in report.findings[:1])


def test_a_mean_of_probabilities_before_a_loss_on_scores() -> None:
    assert first(torch.sigmoid, F.binary_cross_entropy_with_logits) == ("double-softmax confirmed",)
    assert first(lambda x: x.softmax(-1), F.cross_entropy) == ("double-softmax confirmed",)


def test_a_loss_on_probabilities_is_given_a_mean_of_them() -> None:
    assert first(torch.sigmoid, F.binary_cross_entropy) == ()
