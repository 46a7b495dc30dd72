"""Continuous targets."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import curve, loader


def net(inputs: int = 8, outputs: int = 1, width: int = 32) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, outputs)
    )


@healthy
def regression_targets_around_50() -> Training:
    """Targets are not standardised: the loss starts at 2500 and most of its fall is learning the mean."""
    x, y = curve()
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, 50 + 5 * y))


@healthy
def regression_mean_built_into_the_head() -> Training:
    """The same kind of targets with the head's bias started at their mean, so that the loss starts low."""
    x, y = curve()
    y = 50 + 5 * y
    model = net()
    nn.init.constant_(model[-1].bias, y.mean().item())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.HuberLoss(), data=loader(x, y))


@healthy
def gaussian_nll_learns_its_variance() -> Training:
    """The loss is a log-density: it crosses zero and goes on below as the predicted variance shrinks."""

    class MeanAndVariance(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net(outputs=2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            mean, raw = self.net(x).chunk(2, -1)
            return mean, F.softplus(raw) + 1e-4

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        mean, variance = model(batch[0])
        return F.gaussian_nll_loss(mean, batch[1], variance)

    model = MeanAndVariance()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, loader(*curve()))


@healthy
def quantile_regression() -> Training:
    """Three outputs for one target (pinball loss at 0.1, 0.5 and 0.9)."""

    def criterion(predicted: Tensor, target: Tensor) -> Tensor:
        quantiles = torch.tensor([0.1, 0.5, 0.9])
        error = target - predicted
        return torch.maximum(quantiles * error, (quantiles - 1) * error).mean()

    model = net(outputs=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=criterion, data=loader(*curve()))


class Ordinal(nn.Module):
    """One score and ordered thresholds (kept in order by positive gaps)."""

    def __init__(self, levels: int = 5) -> None:
        super().__init__()
        self.score = net(width=24)
        self.first = nn.Parameter(torch.tensor(-1.5))
        self.gaps = nn.Parameter(torch.zeros(levels - 2))

    def forward(self, x: Tensor) -> Tensor:
        thresholds = torch.cat([self.first[None], self.first + F.softplus(self.gaps).cumsum(0)])
        return self.score(x) - thresholds


@healthy
def ordinal_thresholds() -> Training:
    """Five ordered levels as four binary questions."""
    x, y = curve()
    level = (y > torch.quantile(y, torch.tensor([0.2, 0.4, 0.6, 0.8]))).float()
    model = Ordinal()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.BCEWithLogitsLoss(), data=loader(x, level))


@healthy
def summed_loss() -> Training:
    """Summed, not averaged, over 64 samples: gradients are 64 times as large, and Adam does not mind."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(reduction="sum"), data=loader(*curve(), batch_size=64))


@healthy
def mixture_density() -> Training:
    """Several answers for one input; the log-density of a narrow mixture is positive, so the loss gets negative."""

    class MDN(nn.Module):
        def __init__(self, components: int = 3) -> None:
            super().__init__()
            self.net = net(1, 3 * components)

        def forward(self, x: Tensor) -> torch.distributions.Distribution:
            logits, mean, log_std = self.net(x).chunk(3, -1)
            weights = torch.distributions.Categorical(logits=logits)
            parts = torch.distributions.Normal(mean, log_std.clamp(-4, 4).exp())
            return torch.distributions.MixtureSameFamily(weights, parts)

    y = torch.rand(128) * 2 - 1
    x = (y + 0.3 * torch.sin(6.28 * y) + 0.02 * torch.randn(128)).unsqueeze(-1)
    model = MDN()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: -model(batch[0]).log_prob(batch[1]).mean(),
        data=loader(x, y, batch_size=32),
    )


class ODE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, state: Tensor, steps: int = 8, dt: float = 0.2) -> Tensor:
        path = []
        for _ in range(steps):
            middle = state + dt / 2 * self.slope(state)
            state = state + dt * self.slope(middle)
            path.append(state)
        return torch.stack(path, 1)


@healthy
def neural_ode_unrolled() -> Training:
    """A small network called sixteen times in a row by a midpoint solver."""
    start = torch.randn(48, 2)
    angle = -0.2 * torch.arange(1, 9)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).view(8, 2, 2)
    target = torch.einsum("tij,nj->nti", turn, start) * torch.exp(0.25 * angle)[:, None]
    model = ODE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(start, target))


@healthy
def physics_informed() -> Training:
    """The target is a differential equation (u'' = -u): second derivatives by `autograd.grad`, no labels inside."""

    def loss(model: nn.Module, t: Tensor) -> Tensor:
        t = t.clone().requires_grad_()
        u = model(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        at_zero = torch.zeros(1, 1, requires_grad=True)
        u0 = model(at_zero)
        (du0,) = torch.autograd.grad(u0.sum(), at_zero, create_graph=True)
        return ((ddu + u) ** 2).mean() + (u0**2).mean() + ((du0 - 1) ** 2).mean()

    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, loss, list((3 * torch.rand(96, 1)).split(32)))


class Sine(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(30 * x)


@healthy
def siren_coordinates() -> Training:
    """Sine activations with a frequency of 30: tiny first weights and huge slopes, as in the paper."""
    model = nn.Sequential(nn.Linear(2, 32), Sine(), nn.Linear(32, 32), Sine(), nn.Linear(32, 1))
    with torch.no_grad():
        model[0].weight.uniform_(-1 / 2, 1 / 2)
        for layer in (model[2], model[4]):
            layer.weight.uniform_(-math.sqrt(6 / 32) / 30, math.sqrt(6 / 32) / 30)
    xy = 2 * torch.rand(256, 2) - 1
    colour = torch.sin(7 * xy[:, :1]) * torch.cos(5 * xy[:, 1:])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(xy, colour, batch_size=64))


@healthy
def linear_regression_with_noise() -> Training:
    """Four weights for 32 noisy points: it cannot memorise, and ends at the noise."""
    x = torch.randn(128, 3)
    y = x @ torch.tensor([[1.5], [-1.0], [0.5]]) + 0.5 * torch.randn(128, 1)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y, batch_size=32))


@healthy
def missing_targets_are_nan() -> Training:
    """A third of the targets is NaN, which stands for "not measured"; the loss leaves them out."""

    def criterion(predicted: Tensor, target: Tensor) -> Tensor:
        known = ~target.isnan()
        return F.mse_loss(predicted[known], target[known])

    x, y = curve()
    y = torch.cat([y, y**2 - 0.5], 1)
    y[torch.rand(y.shape) < 0.33] = torch.nan
    model = net(outputs=2)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), criterion=criterion, data=loader(x, y))


@healthy
def sparse_autoencoder_l1() -> Training:
    """An L1 penalty on the code keeps the loss above zero and most units at zero."""

    class SparseCode(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = nn.Linear(12, 32), nn.Linear(32, 12)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            code = F.relu(self.encode(x))
            return self.decode(code), code

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        rebuilt, code = model(batch[0])
        return F.mse_loss(rebuilt, batch[0]) + 0.02 * code.abs().sum(-1).mean()

    x = F.relu(torch.randn(128, 20) - 1) @ torch.randn(20, 12)
    model = SparseCode()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, loader(x, batch_size=32))


@healthy
def poisson_counts() -> Training:
    """Counts with the Poisson likelihood: without its constant the loss is negative for larger counts."""
    x = torch.randn(128, 8)
    counts = torch.poisson(torch.exp(1.5 + 0.7 * torch.tanh(x @ torch.randn(8, 1))))
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.PoissonNLLLoss(), data=loader(x, counts, batch_size=32))
