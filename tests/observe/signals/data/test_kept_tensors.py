"""Tensors that modules keep: what adds up in them, and what follows a schedule."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth.causes.in_place_modification import _drifts
from pytest_trainhealth.programs.watched_program import watch


class Keeper(nn.Module):
    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.seen, self.layer = way, 0, nn.Linear(6, 6)
        self.register_buffer("kept", torch.zeros(()) if "single" in way else torch.zeros(6))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        if self.way == "a single number":
            self.kept += 0.01
        elif self.way == "the same number everywhere":
            self.kept.add_(0.01)
        elif self.way == "set from a counter":
            self.kept.copy_((self.seen / 50 - torch.arange(6.0) / 6).clamp(0, 1) + 1e-3 * self.seen)
        elif self.way == "adds up what passes":
            self.kept += x.detach().abs().mean(0)
        return self.layer(x) + self.kept


def drifting(way: str) -> bool:
    model = Keeper(way)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with watch(signals=("kept_tensors",)) as trace:
        for _ in range(40):
            optimizer.zero_grad()
            model(torch.randn(8, 6)).square().mean().backward()
            optimizer.step()
    return any(_drifts(record) for record in trace.data.kept_tensors.values())


@pytest.mark.parametrize("way", ["a single number", "the same number everywhere", "set from a counter"])
def test_a_weight_that_is_annealed_follows_a_schedule(way: str) -> None:
    assert not drifting(way)


def test_what_adds_up_is_told() -> None:
    assert drifting("adds up what passes")
