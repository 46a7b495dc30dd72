"""NaN and Inf wherever a training keeps values; and those that are meant, or that a loss scaler takes care of."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict

X, Y = torch.randn(16, 4), torch.randn(16, 1)


def nan(make: Any, **values: Any) -> Verdict:
    return examine(make, Request("trains_without_nan", "finite", 0, {"sweep": False, **values}))


class Counts(nn.Module):
    """Keeps a statistic of its own that nothing else uses."""

    def __init__(self, spoil: float, start: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 1)
        self.spoil = spoil
        self.register_buffer("running_mean", torch.full((4,), start))

    def forward(self, x: Tensor) -> Tensor:
        self.running_mean = self.running_mean * 0.9 + self.spoil
        return self.inner(x)


def buffered(spoil: float, start: float = 0.0) -> Any:
    def make() -> Training:
        model = Counts(spoil, start)
        return Training(model, torch.optim.SGD(model.parameters(), 1e-2), criterion=nn.MSELoss(), data=(X, Y))

    return make


@pytest.mark.parametrize("spoil", [float("nan"), float("inf")])
def test_a_statistic_that_turns_bad(spoil: float) -> None:
    verdict = nan(buffered(spoil))
    assert verdict.failed
    assert verdict.symptom is not None
    assert "running_mean is" in verdict.symptom.summary


def test_a_buffer_that_was_never_finite_is_meant() -> None:
    assert nan(buffered(0.0, start=-float("inf"))).passed


def test_moments_that_overflow() -> None:
    """Squares of gradients beyond 1.8e19 are infinite: Adam divides by them, and its steps are 0 from then on."""

    def make() -> Training:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        return Training(model, optimizer, lambda m, b: 1e21 * m(b[0]).mean(), data=(X, Y))

    verdict = nan(make)
    assert verdict.failed
    assert verdict.symptom is not None
    assert "in Adam is inf" in verdict.symptom.summary
    assert verdict.symptom.summary.startswith("exp_avg_sq of")


def scaled(broken: bool, first_scale: float = 65536.0) -> Any:
    def make() -> Training:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 1e-2)
        scaler = torch.amp.GradScaler("cpu", init_scale=first_scale)

        def step(batch: tuple[Tensor, Tensor]) -> Tensor:
            optimizer.zero_grad()
            error = (model(batch[0]) - batch[1]).square().mean()
            loss = error + (model.weight * 0).abs().sum().sqrt() if broken else error  # guilty: its slope at 0
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss.detach()

        return Training(model, optimizer, step=step, data=(X, Y))

    return make


def test_a_scaler_that_skips_without_end() -> None:
    verdict = nan(scaled(broken=True))
    assert verdict.failed
    assert verdict.symptom is not None
    assert "the gradient is nan" in verdict.symptom.summary
    assert verdict.findings[0].cause == "unstable-operation"
    assert "# guilty" in verdict.findings[0].places[0].code


def test_a_scaler_that_looks_for_its_scale_is_no_alarm() -> None:
    verdict = nan(scaled(broken=False, first_scale=2.0**127))
    assert verdict.passed


def test_the_scaler_is_as_before() -> None:
    before = torch.amp.GradScaler.step
    nan(scaled(broken=False))
    assert torch.amp.GradScaler.step is before
