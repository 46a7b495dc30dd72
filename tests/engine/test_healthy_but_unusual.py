"""Trainings that have something unusual about them, and nothing wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Report, Training, diagnose

X = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] > 0).long()


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.mask = nn.Parameter(torch.ones(4, dtype=torch.bool), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x * self.mask)  # type: ignore[no-any-return]


def make(model: nn.Module, rate: float = 0.01) -> Training:
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], rate)
    return Training(model, optimizer, criterion=F.cross_entropy, data=(X, Y))


def outcomes(report: Report) -> list[tuple[str, str, list[str]]]:
    return [(v.check, v.outcome, [f.cause for f in v.findings]) for v in report.verdicts]


def test_a_frozen_parameter_of_bools() -> None:
    torch.manual_seed(0)
    assert all(verdict.passed for verdict in diagnose(make(Masked())).verdicts)


def test_a_frozen_parameter_of_bools_in_a_training_that_is_diagnosed() -> None:
    torch.manual_seed(0)
    assert any(verdict.failed for verdict in diagnose(make(Masked(), rate=1e4)).verdicts)


@pytest.fixture
def default_device(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    torch.set_default_device(None)


def dead() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    nn.init.constant_(model[0].bias, -100.0)  # type: ignore[arg-type]
    return model


@pytest.mark.usefixtures("default_device")
def test_a_default_device_that_somebody_else_has_set() -> None:
    """The probes run with other weights and values of ours, which lay on that device: nothing could be judged."""
    expected = outcomes(diagnose(make(dead())))
    training = make(dead())
    torch.set_default_device("meta")
    assert outcomes(diagnose(training)) == expected
    assert torch.get_default_device() == torch.device("meta")
