"""The source of a class is read only where something else already speaks for a tie."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.source import tying_words


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())  # type: ignore[no-any-return]


def test_no_source_is_read_for_a_model_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    original = inspect.getsource

    def getsource(thing: Any) -> str:
        read.append(thing)
        return original(thing)

    monkeypatch.setattr(tying_words.inspect, "getsource", getsource)
    model = Plain()
    data = (torch.randn(8, 4), torch.randint(0, 4, (8,)))
    training = Training(model, torch.optim.Adam(model.parameters()), criterion=F.cross_entropy, data=data)
    assert diagnose(training, checks="gradients_flow").healthy
    assert read == []


def test_classes_of_torch_say_nothing() -> None:
    assert not tying_words.says_siamese(nn.Linear)
