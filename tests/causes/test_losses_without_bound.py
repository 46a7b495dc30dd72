"""A loss that falls without bound has its sign turned; one that falls by a logarithm is a likelihood."""

from __future__ import annotations

from math import log

import torch
from torch import nn

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.analysis.loss_calls import unbounded
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.wiring import OptimizerRecord


def traced(losses: list[float]) -> Trace:
    trace = Trace.of(losses)
    trace.wiring.optimizers = {"Adam": OptimizerRecord("Adam", "Adam", steps=len(losses))}
    return trace


def test_faster_and_faster_below_zero() -> None:
    assert unbounded(traced([-1.4 - 0.01 * step**3 for step in range(100)]))


def test_a_likelihood_falls_by_a_logarithm() -> None:
    assert not unbounded(traced([1.4 - 40 * log(1 + step) for step in range(200)]))
    assert not unbounded(traced([300.0 - 3 * step for step in range(100)]))


def test_a_straight_line_proves_nothing() -> None:
    assert not unbounded(traced([-5.0 * step for step in range(200)]))


class Gaussian(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.scale = nn.Linear(4, 32), nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.distributions.Normal:
        h = torch.tanh(self.body(x))
        return torch.distributions.Normal(self.mean(h), nn.functional.softplus(self.scale(h)) + 0.05)


def likelihood(sign: float) -> Training:
    model, x = Gaussian(), torch.randn(32, 4)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), 1e-2),
        loss=lambda model, batch: sign * model(batch[0]).log_prob(batch[1]).mean(),
        data=(x, x[:, :1] * 2),
    )


def test_a_likelihood_without_its_minus() -> None:
    first = diagnose(lambda: likelihood(1.0), "overfits_one_batch").findings[0]
    assert (first.cause, first.certainty) == ("wrong-loss-sign", "confirmed")


def test_a_likelihood_with_it() -> None:
    assert diagnose(lambda: likelihood(-1.0), "overfits_one_batch").healthy


def test_what_falls_without_bound_in_either_direction_is_no_turned_sign() -> None:
    def factory() -> Training:
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        direction = torch.sign(torch.randn(32, 1))
        return Training(
            model,
            torch.optim.Adam(model.parameters(), 5e-2),
            loss=lambda model, batch: (model(batch) ** 3 * direction).mean(),
            data=torch.randn(32, 4),
        )

    report = diagnose(factory, "overfits_one_batch")
    assert not any(f.confirmed for f in report.findings)
