"""The range test on trainings that run."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from pytest_trainhealth import Training, diagnose, learning_rate_range
from pytest_trainhealth.examine import NotATraining


def made(rate: float) -> Training:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    teacher = torch.randn(8, 1)
    inputs = [torch.randn(16, 8) for _ in range(4)]
    return Training(
        model,
        torch.optim.SGD(model.parameters(), lr=rate),
        criterion=nn.MSELoss(),
        data=[(each, each @ teacher) for each in inputs],
    )


def test_a_training_is_told_which_rates_work_and_is_left_as_it_was() -> None:
    training = made(0.05)
    before = [p.detach().clone() for p in training.model.parameters()]
    found = learning_rate_range(training, steps=20)
    assert found.works
    assert 0 < (found.low or 0.0) < (found.high or 0.0) < 5.0
    assert training.optimizers["SGD"].param_groups[0]["lr"] == 0.05
    assert all(torch.equal(old, new) for old, new in zip(before, training.model.parameters(), strict=True))


def test_a_rate_that_is_too_high_is_told_by_how_much() -> None:
    report = diagnose(lambda: made(30.0), checks="learns_from_data")
    first = report.findings[0]
    assert (first.cause, first.certainty) == ("lr-too-high", "confirmed")
    line = next(each.text for each in first.evidence if "the range that works" in each.text)
    assert re.match(r"your rate 30 lies [\d,]+ x above ", line)
    assert line in str(report)


def test_nothing_is_said_where_time_is_up() -> None:
    found = learning_rate_range(made(0.05), budget=0.1, steps=100_000)
    assert found.low is None
    assert "used up" in found.why_not


def test_a_test_that_is_watched_has_no_range() -> None:
    def watched() -> None:
        training = made(0.05)
        loss = training.model(torch.randn(4, 8)).sum()
        loss.backward()
        training.optimizers["SGD"].step()

    with pytest.raises(NotATraining, match="nothing was returned"):
        learning_rate_range(watched)
