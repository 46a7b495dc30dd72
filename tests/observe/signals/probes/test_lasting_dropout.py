"""Dropout that no eval() switches off, and dropout that somebody asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.records.verdict import Verdict


class Network(nn.Module):
    def __init__(self, drop: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.second, self.layer, self.drop = nn.Linear(8, 32), nn.Linear(32, 3), nn.Dropout(0.3), drop
        self.attention = nn.MultiheadAttention(32, 2, dropout=0.3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.drop(self, torch.relu(self.first(x))))


def verdict_of(drop: Callable[[nn.Module, Tensor], Tensor]) -> Verdict:
    def make() -> Training:
        torch.manual_seed(0)
        x = torch.randn(64, 8)
        model = Network(drop)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        data = list(zip(x.split(16), x[:, :3].argmax(1).split(16), strict=True))
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data)

    return diagnose(make, checks=["uses_its_input"]).verdicts[0]


@pytest.mark.parametrize(
    ("drop", "fix"),
    [
        (lambda self, h: F.dropout(h, 0.3), "training=self.training"),
        (lambda self, h: F.dropout(h, p=0.3, inplace=False), "training=self.training"),
        (lambda self, h: nn.Dropout(0.3)(h), "self.dropout = nn.Dropout(p)"),
    ],
    ids=["no training=", "other keywords", "a new layer"],
)
def test_it_stays_on(drop: Callable[[nn.Module, Tensor], Tensor], fix: str) -> None:
    verdict = verdict_of(drop)
    assert verdict.failed
    found = verdict.findings[0]
    assert (found.cause, found.certainty) == ("wrong-mode", "likely")
    assert found.fix is not None
    assert fix in found.fix.code[0]
    assert "dropout" in found.places[0].code.lower()


@pytest.mark.parametrize(
    "drop",
    [
        lambda self, h: F.dropout(h, 0.3, training=self.training),
        lambda self, h: F.dropout(h, 0.3, self.training),
        lambda self, h: F.dropout(h, 0.3, training=True),
        lambda self, h: F.dropout(h, **{"p": 0.3, "training": self.training}),
        lambda self, h: F.dropout(h) if self.training else h,
        lambda self, h: F.dropout(h, 0.0),
        lambda self, h: self.layer(h),
        lambda self, h: nn.Dropout(0.3).train(self.training)(h),
        lambda self, h: F.dropout(h, 0.3, training=False),
        lambda self, h: self.attention(h[:, None], h[:, None], h[:, None])[0][:, 0],
    ],
    ids=[
        "named",
        "third",
        "asked for",
        "unpacked",
        "in training only",
        "drops nothing",
        "a layer",
        "a new layer, set",
        "told no",
        "in attention",
    ],
)
def test_it_is_switched_off_or_meant(drop: Callable[[nn.Module, Tensor], Tensor]) -> None:
    assert verdict_of(drop).outcome == "passed"
