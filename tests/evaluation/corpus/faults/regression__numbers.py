"""Numbers from numbers, and an operation on the way that leaves its domain."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault
from .regression import Regressor, sensors


@fault("unstable-operation", also=("unnormalized-inputs",), operation="exp")
def softplus_by_hand(broken: bool) -> Training:
    """Delivery times are positive, so the output goes through log(1 + exp(x)), written out. It works until
    the model has learned of routes that take 89 minutes: there the exp overflows. Standardised targets would never
    get there, so these may be blamed as well."""
    x = torch.randn(256, 6)
    minutes = 82 + 3 * x @ F.normalize(torch.randn(6, 1), dim=0) + 0.5 * torch.randn(256, 1)

    class Minutes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = Regressor(features=6, width=32)
            nn.init.constant_(self.body.out.bias, 80.0)

        def forward(self, x: Tensor) -> Tensor:
            raw = self.body(x)
            return torch.log(1 + torch.exp(raw)) if broken else F.softplus(raw)  # guilty

    model = Minutes()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, minutes, batch_size=32))


@fault("unstable-operation", operation="div")
def variance_through_a_relu(broken: bool) -> Training:
    """A network that also says how sure it is: the Gaussian likelihood by hand divides by a variance that a ReLU keeps
    "positive", which means 0 as well."""

    class Uncertain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
            self.mean = nn.Linear(64, 1)
            self.variance = nn.Linear(64, 1)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            h = self.body(x)
            raw = self.variance(h)
            return self.mean(h), F.relu(raw) if broken else F.softplus(raw) + 1e-3

    def likelihood(model: nn.Module, batch: list[Tensor]) -> Tensor:
        x, y = batch
        mean, variance = model(x)
        scaled = (y - mean) ** 2 / variance  # guilty
        return 0.5 * (scaled + torch.log(variance)).mean()

    model = Uncertain()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), likelihood, sensors())


@fault("unstable-operation", operation="hypot (backward)")
def speed_of_a_calm(broken: bool) -> Training:
    """Three of 384 hours are without any wind. The length of (0, 0) is 0 without complaint, but it has no slope: 0/0 in
    the backward pass, and the two gains in front of it are NaN."""

    class WindFarm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Parameter(torch.ones(2))
            self.net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

        def forward(self, x: Tensor) -> Tensor:
            wind = x[:, :2] * self.gain
            if not broken:
                wind = wind + 1e-4
            speed = torch.hypot(wind[:, :1], wind[:, 1:])  # guilty
            return self.net(torch.cat([wind, speed, x[:, 2:]], 1))

    x = torch.randn(384, 4)
    x[torch.randperm(384)[:3], :2] = 0.0
    power = torch.tanh(x[:, :2].square().sum(1, keepdim=True) - 2) + 0.3 * x[:, 2:3] + 0.05 * torch.randn(384, 1)
    model = WindFarm()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, power, batch_size=32))


@fault("unstable-operation", operation="div")
def window_of_a_stuck_sensor(broken: bool) -> Training:
    """Each window is standardised by itself, and in two of them the sensor was stuck: the spread is 0, and 0/0 NaN."""

    class WindowNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

        def forward(self, window: Tensor) -> Tensor:
            centred = window - window.mean(1, keepdim=True)
            spread = centred.std(1, keepdim=True)
            return self.net(centred / (spread if broken else spread + 1e-5))  # guilty

    phase = 2 * math.pi * torch.rand(320, 1)
    waves = torch.sin(0.6 * torch.arange(17) + phase) + 0.1 * torch.randn(320, 17)
    windows, following = waves[:, :16].clone(), waves[:, 16:].clone()
    stuck = torch.randperm(320)[:2]
    windows[stuck], following[stuck] = 0.5, 0.0
    model = WindowNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(windows, following, batch_size=32))


@fault("unstable-operation", operation="sqrt (backward)")
def distance_of_a_point_to_itself(broken: bool) -> Training:
    """Positions are learned from the distances between neighbours. `torch.where` takes the root where it is safe, but
    the diagonal's root is differentiated all the same: 0 times an infinite slope."""
    places = torch.randn(96, 2)
    anchors = torch.randn(10, 2) * 1.5
    signals = torch.exp(-torch.cdist(places, anchors)) + 0.01 * torch.randn(96, 10)

    class Locator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

        def forward(self, signals: Tensor) -> Tensor:
            return self.net(signals)

    def distances(points: Tensor) -> Tensor:
        squared = (points[:, None] - points[None]).square().sum(-1)
        apart = squared > 0
        if not broken:
            squared = torch.where(apart, squared, torch.ones_like(squared))
        return torch.where(apart, torch.sqrt(squared), torch.zeros_like(squared))  # guilty

    def stress(model: nn.Module, batch: list[Tensor]) -> Tensor:
        signals, places = batch
        return F.mse_loss(distances(model(signals)), torch.cdist(places, places))

    model = Locator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, stress, loader(signals, places, batch_size=16))


@fault("unstable-operation", operation="reciprocal")
def weight_of_an_empty_bucket(broken: bool) -> None:
    """Watched. Errors are averaged per bucket of the target, so that rare high values count as much as the rest. Sooner
    or later a batch has no sample of the highest bucket: one over 0 samples, times an error of 0."""
    x = torch.randn(512, 8)
    y = x @ F.normalize(torch.randn(8, 1), dim=0) + 0.1 * torch.randn(512, 1)
    edges = torch.tensor([-1.0, 0.0, 1.0, 2.0])
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(3):
        for inputs, target in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
            error = (model(inputs) - target).square().squeeze(1)
            bucket = torch.bucketize(target.squeeze(1), edges)
            count = torch.bincount(bucket, minlength=5).float()
            share = 1 / (count if broken else count.clamp(min=1))  # guilty
            loss = (torch.zeros(5).index_add(0, bucket, error) * share).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@fault("unstable-operation", operation="atanh")
def imitation_of_full_throttle(broken: bool) -> Training:
    """Behaviour cloning with a squashed Gaussian: the recorded action has to be unsquashed, and a driver who floors the
    pedal has recorded exactly 1, where atanh is infinite."""
    state = torch.randn(384, 6)
    pedals = (0.6 * state @ F.normalize(torch.randn(6, 2), dim=0) + 0.05 * torch.randn(384, 2)).clamp(-1, 1)
    pedals[torch.randperm(384)[:6], 0] = 1.0

    class Policy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
            self.mean = nn.Linear(48, 2)
            self.log_std = nn.Parameter(torch.zeros(2))

        def log_prob(self, state: Tensor, action: Tensor) -> Tensor:
            if not broken:
                action = action.clamp(-0.99, 0.99)
            before = torch.atanh(action)  # guilty
            gaussian = torch.distributions.Normal(self.mean(self.body(state)), self.log_std.exp(), validate_args=False)
            return (gaussian.log_prob(before) - torch.log1p(-action.square() + 1e-6)).sum(-1)

        def forward(self, state: Tensor) -> Tensor:
            return torch.tanh(self.mean(self.body(state)))

    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        loss = -policy.log_prob(*batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(policy, optimizer, step=step, data=loader(state, pedals, batch_size=32))


@fault("unstable-operation", operation="log")
def survival_as_a_running_product(broken: bool) -> Training:
    """Time to failure in 240 hourly bins: surviving is a running product of (1 - hazard), and a hazard of one half, as
    an untrained network says, leaves 0 of it after 150 hours. Its log is wanted."""
    hours = 240
    x = torch.randn(256, 6)
    rate = torch.exp(0.7 * x @ F.normalize(torch.randn(6, 1), dim=0)).squeeze(1) / 60
    failed_at = (torch.empty(256).exponential_() / rate).long().clamp(max=hours - 1)

    class Hazard(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, hours))

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    def negative_log_likelihood(model: nn.Module, batch: list[Tensor]) -> Tensor:
        x, when = batch
        logits = model(x)
        if broken:
            surviving = torch.cumprod(1 - torch.sigmoid(logits), dim=1)
            log_surviving = torch.log(surviving)  # guilty
        else:
            log_surviving = torch.cumsum(F.logsigmoid(-logits), dim=1)
        until = log_surviving.gather(1, when[:, None]).squeeze(1)
        # in its last hour it did not survive: the odds turn that factor into the hazard
        return -(until + logits.gather(1, when[:, None]).squeeze(1)).mean()

    model = Hazard()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, negative_log_likelihood, loader(x, failed_at, batch_size=32))
