"""Layers that cannot learn: each is named by its own cause, and healed by what that cause prescribes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Finding


def first(model: nn.Module, data: Any, optimizer: Any = None, **values: Any) -> Finding:
    optimizer = optimizer or torch.optim.Adam(model.parameters(), 5e-3)
    training = Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)
    verdict = examine(training, Request("overfits_one_batch", "sick", 0, values))
    assert verdict.failed, verdict
    assert verdict.findings, verdict
    return verdict.findings[0]


def classes(*shape: int, count: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=made), torch.randint(count, (shape[0],), generator=made)


class Gestures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 32, batch_first=True), nn.Linear(32, 5)
        for parameter in self.parameters():
            nn.init.constant_(parameter, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(x)[0].mean(1))
        return out


def test_an_lstm_of_equal_units() -> None:
    finding = first(Gestures(), classes(24, 12, 3), ratio=0.05)
    assert (finding.cause, finding.certainty) == ("bad-initialization", "confirmed")
    assert finding.statement == "all 32 units of lstm.weight_ih_l0 start equal and stay equal"


def plain(width: int = 16) -> nn.Sequential:
    def layer(inputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]

    return nn.Sequential(*layer(1), *layer(width), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, 5))


def test_normalisations_that_multiply_by_zero() -> None:
    torch.manual_seed(0)
    model = plain()
    for module in model:
        if isinstance(module, nn.BatchNorm2d):
            nn.init.zeros_(module.weight)
    finding = first(model, classes(16, 1, 8, 8))
    assert (finding.cause, finding.certainty) == ("bad-initialization", "confirmed")
    assert finding.statement.startswith("BatchNorm2d multiplies by 0: 1.weight and 4.weight start at 0")


class Deep(nn.Module):
    def __init__(self, depth: int = 16, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(width if at else 1, width, 3, padding=1) for at in range(depth))
        self.head = nn.Linear(4 * width, 4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        out: Tensor = self.head(F.adaptive_avg_pool2d(x, 2).flatten(1))
        return out


def test_a_deep_stack_without_a_way_around() -> None:
    torch.manual_seed(0)
    model = Deep()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    finding = first(model, classes(12, 1, 8, 8, count=4), optimizer)
    assert (finding.cause, finding.certainty) == ("vanishing-gradients", "confirmed")


class Shares(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(10 if not at else 64, 64) for at in range(depth))
        self.head = nn.Linear(64, 5)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.softmax(layer(x), -1)
        out: Tensor = self.head(x)
        return out


def test_a_softmax_between_layers() -> None:
    torch.manual_seed(0)
    model = Shares()
    finding = first(model, classes(32, 10), torch.optim.Adam(model.parameters(), 1e-3))
    assert (finding.cause, finding.certainty) == ("saturated-activations", "confirmed")
    assert finding.statement == "a softmax in Shares stands between two layers"
    assert "shares 1 among 64 units" in finding.evidence[0].text


class Forecast(nn.Module):
    def __init__(self, projected: int = 0) -> None:
        super().__init__()
        self.bottom = nn.LSTM(1, 24, batch_first=True)
        self.top = nn.LSTM(24, 2 if projected else 1, batch_first=True, proj_size=projected)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.top(self.bottom(x)[0])[0].squeeze(-1)
        return out


@pytest.mark.parametrize("projected", [0, 1])
def test_a_hidden_state_taken_for_a_forecast(projected: int) -> None:
    torch.manual_seed(0)
    model, time = Forecast(projected), torch.arange(400.0)
    load = torch.exp(torch.sin(time / 7) * 2.2)
    windows = ((load - load.mean()) / load.std()).unfold(0, 25, 8)
    data = (windows[:16, :-1].unsqueeze(2), windows[:16, 1:])
    training = Training(model, torch.optim.Adam(model.parameters(), 1e-2), criterion=nn.MSELoss(), data=data)
    verdict = examine(training, Request("overfits_one_batch", "forecast", 0, {"ratio": 0.02}))
    named = [finding.cause for finding in verdict.findings]
    assert ("wrong-output-activation" in named[:1]) is not bool(projected)
    if not projected:
        assert verdict.findings[0].fix is not None
        assert verdict.findings[0].fix.instruction.startswith("put a linear layer behind the recurrent one")
