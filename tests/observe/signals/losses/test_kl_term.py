"""The KL term of a variational autoencoder is found by its values, and nothing else is taken for one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.analysis import loss_calls
from pytest_trainhealth.programs.plan import Look, RunPlan, Treatment
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.intervention import Cure
from pytest_trainhealth.records.losses import LossCall
from pytest_trainhealth.records.trace import Trace

N, PIXELS = 16, 10

Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder, self.decoder = nn.Linear(PIXELS, 6), nn.Linear(3, PIXELS)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.encoder(x).chunk(2, -1)
        return self.decoder(mean + torch.randn_like(mean) * (0.5 * log_var).exp()), mean, log_var


def record(loss: Loss, *cures: Cure) -> Trace:
    model = VAE()
    training = Training(
        model,
        torch.optim.Adam(model.parameters(), 0.01),
        loss=lambda model, x: loss(x, *model(x)),
        data=torch.rand(N, PIXELS),
    )
    plan = RunPlan(max_steps=5, look=Look(signals=("loss_calls",)), treatment=Treatment(cures=cures))
    trace = TrainingProgram(Start(training, seed=0)).record(plan)
    return trace


def divergence(trace: Trace) -> LossCall | None:
    return next((call for call in trace.loss.calls if call.function == loss_calls.DIVERGENCE), None)


def error(x: Tensor, output: Tensor) -> Tensor:
    return F.mse_loss(output, x, reduction="none").sum(-1).mean()


def terms(mean: Tensor, log_var: Tensor) -> Tensor:
    return -0.5 * (1 + log_var - mean**2 - log_var.exp())


def by_hand(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + terms(mean, log_var).sum(-1).mean()


def factor_outside(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) - 0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp()) / len(x)


def other_order(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + 0.5 * (mean * mean + log_var.exp() - log_var - 1).sum(1).mean()


def of_deviation(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    std = torch.exp(0.5 * log_var)
    return error(x, output) - 0.5 * (1 + torch.log(std**2) - mean**2 - std**2).sum(-1).mean()


def of_variance(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    var = F.softplus(log_var)
    return error(x, output) - 0.5 * (1 + var.log() - mean**2 - var).sum(-1).mean()


def of_distributions(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    prior = Normal(torch.zeros_like(mean), torch.ones_like(mean))
    return error(x, output) + kl_divergence(Normal(mean, (0.5 * log_var).exp()), prior).sum(-1).mean()


@pytest.mark.parametrize(
    "loss",
    [by_hand, factor_outside, other_order, of_deviation, of_variance, of_distributions],
    ids=lambda f: f.__name__,
)
def test_however_it_is_written(loss: Loss) -> None:
    trace = record(loss)
    call = divergence(trace)
    assert call is not None
    assert call.complete
    assert call.weight == pytest.approx(3.0, rel=1e-2)  # three latents, mean over samples
    assert loss_calls.rewarded_divergence(trace) is None
    assert loss_calls.summed_divergence(trace) is None


def mean_alone(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + (0.5 * mean**2 + 0 * log_var.exp()).sum(-1).mean()


def likelihood(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + 0.5 * (log_var + (mean - 1) ** 2 / log_var.exp()).sum(-1).mean()


@pytest.mark.parametrize("loss", [mean_alone, likelihood], ids=lambda f: f.__name__)
def test_what_is_none(loss: Loss) -> None:
    assert divergence(record(loss)) is None


def turned(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) - terms(mean, log_var).sum(-1).mean()


def capacity(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + (terms(mean, log_var).sum(-1).mean() - 4).abs()


def test_a_sign_turned() -> None:
    trace = record(turned)
    assert loss_calls.rewarded_divergence(trace) is not None
    assert "KL" in loss_calls.oddities(trace)


def test_a_capacity_to_be_reached_pushes_the_divergence_up_on_purpose() -> None:
    trace = record(capacity)
    call = divergence(trace)
    assert call is not None
    assert call.weight is not None
    assert call.weight < 0
    assert loss_calls.rewarded_divergence(trace) is None


def summed(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return error(x, output) + terms(mean, log_var).sum()


def both_summed(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return F.mse_loss(output, x, reduction="sum") + terms(mean, log_var).sum()


def weighted(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return F.mse_loss(output, x) + 0.01 * terms(mean, log_var).sum()


def averaged(x: Tensor, output: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    return F.mse_loss(output, x) + terms(mean, log_var).sum(-1).mean()


def test_a_sum_beside_a_mean() -> None:
    assert loss_calls.summed_divergence(record(summed)) is not None


@pytest.mark.parametrize("loss", [both_summed, weighted, averaged], ids=lambda f: f.__name__)
def test_other_weights_are_the_authors_choice(loss: Loss) -> None:
    trace = record(loss)
    assert divergence(trace) is not None
    assert loss_calls.summed_divergence(trace) is None


@pytest.mark.parametrize(("loss", "factor"), [(turned, -1.0), (summed, 1 / N)])
def test_the_cure_makes_it_what_it_should_be(loss: Loss, factor: float) -> None:
    cured = record(loss, Cure("scale_divergence", "", {"factor": factor}))
    assert cured.losses == pytest.approx(record(by_hand).losses, rel=1e-5)
