"""Probes end with the time budget, say so, and prove nothing by halves."""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose

#: Seconds; the steps take far less, a single probe takes them all.
BUDGET = 1.0


class Slow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:  # probes call models in eval mode
            time.sleep(BUDGET)
        return self.layer(x)  # type: ignore[no-any-return]


def test_no_probe_begins_after_the_budget() -> None:
    model = Slow()
    training = Training(
        model,
        torch.optim.SGD(model.parameters(), 0.1),
        criterion=F.cross_entropy,
        data=(torch.randn(8, 4), torch.randint(0, 2, (8,))),
    )
    (verdict,) = diagnose(training, checks=["uses_its_input"], budget=BUDGET).verdicts
    assert verdict.outcome == "could not judge"
    assert verdict.reason == "budget of 1 s used up: the model was not called with all the other inputs"
