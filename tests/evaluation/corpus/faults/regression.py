"""Numbers from numbers: tables, sensors, series."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from ..healthy.toydata import loader
from . import fault


class Sensors(Dataset):
    """Readings of a machine, and the temperature that follows from them, both standardised."""

    def __init__(self, n: int = 512, features: int = 8) -> None:
        self.readings = torch.randn(n, features)
        direction = F.normalize(torch.randn(features, 1), dim=0)
        temperature = torch.sin(1.5 * self.readings @ direction) + 0.4 * self.readings[:, :1] * self.readings[:, 1:2]
        self.temperature = (temperature - temperature.mean()) / temperature.std() + 0.05 * torch.randn(n, 1)

    def __len__(self) -> int:
        return len(self.readings)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.readings[index], self.temperature[index]


def sensors(batch_size: int = 32) -> DataLoader:
    return DataLoader(Sensors(), batch_size=batch_size, shuffle=True)


class Regressor(nn.Module):
    def __init__(self, features: int = 8, width: int = 64) -> None:
        super().__init__()
        self.hidden1 = nn.Linear(features, width)
        self.hidden2 = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.relu(self.hidden2(F.relu(self.hidden1(x)))))


@fault("nan-in-data")
def regression_gaps_in_the_readings(broken: bool) -> Training:
    """A sensor was off now and then, and the table has NaN there, which nobody filled in."""

    class Logged(Sensors):
        def __init__(self) -> None:
            super().__init__()
            self.readings[torch.randint(512, (16,)), 3] = torch.nan
            if not broken:
                self.readings = self.readings.nan_to_num(0.0)

    model = Regressor()
    data = DataLoader(Logged(), batch_size=32, shuffle=True)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), criterion=nn.MSELoss(), data=data)


@fault("lr-too-low")
def regression_learning_rate_of_a_recipe(broken: bool) -> Training:
    """AdamW at 1e-6, as for fine-tuning a language model, on a network that starts from random weights."""
    model = Regressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6 if broken else 5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=sensors())


@fault("lr-too-high")
def regression_rate_for_huge_batches(broken: bool) -> Training:
    """SGD at 3.0, a rate from a paper on batches of 8,192 samples, with momentum: the weights are thrown about."""

    def step(batch: list[Tensor]) -> float:
        x, y = batch
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=3.0 if broken else 0.05, momentum=0.9)
    return Training(model, optimizer, step=step, data=sensors())


@fault("loss-reduction")
def regression_sum_of_squares(broken: bool) -> Training:
    """`reduction="sum"` with a learning rate that was found for the mean: the gradient is 32 times as long."""
    model = Regressor()
    return Training(
        model,
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        criterion=nn.MSELoss(reduction="sum" if broken else "mean"),
        data=sensors(),
    )


@fault("target-shape-mismatch")
def regression_targets_without_a_column(broken: bool) -> Training:
    """Predictions are (N, 1), targets (N,): the difference is (N, N), and all predictions go to the mean."""

    def step(batch: dict[str, Tensor]) -> Tensor:
        predicted = model(batch["features"])
        target = batch["price"] if broken else batch["price"][:, None]
        loss = torch.mean((predicted - target) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x, y = Sensors()[:]
    batches = [{"features": x[i : i + 32], "price": y[i : i + 32, 0]} for i in range(0, 512, 32)]
    model = Regressor()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=batches)


@fault("wrong-output-activation", hard=True)
def regression_relu_at_the_end(broken: bool) -> Training:
    """The last layer has a ReLU like all the others, and half of the standardised targets are below zero."""

    class Stacked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[nn.Module] = []
            for inside, outside in ((8, 64), (64, 64), (64, 3)):
                layers += [nn.Linear(inside, outside), nn.ReLU()]
            self.net = nn.Sequential(*(layers if broken else layers[:-1]))

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    x = torch.randn(512, 8)
    y = torch.sin(x @ torch.randn(8, 3) / 2) + 0.3 * x[:, :3]
    model = Stacked()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y / y.std(0), batch_size=32))


@fault("bad-momentum")
def regression_momentum_of_one(broken: bool) -> Training:
    """`momentum=1.0`: no update is ever forgotten, and the weights swing like a pendulum without friction."""
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=1.0 if broken else 0.9)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=sensors())


@fault("needs-lr-decay")
def regression_bounces_at_a_constant_rate(broken: bool) -> Training:
    """Steps of a constant size (Adam at 0.5 on an absolute error): the weights dance around what a decay would hit."""

    class Calibration(nn.Module):
        """Eight channels by twelve wavelengths, linear but for the dark current of each."""

        def __init__(self) -> None:
            super().__init__()
            self.gain = nn.Linear(12, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.gain(x)

    x = torch.randn(512, 12)
    y = x @ torch.randn(12, 8) + torch.randn(8)
    model = Calibration()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.0 if broken else 0.97)
    data = loader(x, y, batch_size=32)
    return Training(model, optimizer, criterion=nn.L1Loss(), data=data, scheduler=scheduler, scheduler_every="batch")


@fault("lr-decayed-too-early")
def regression_decays_within_one_epoch(broken: bool) -> Training:
    """A linear decay over `len(data)` steps, not times the number of epochs: no rate is left after the first epoch."""

    class Trainer:
        def __init__(self, epochs: int = 40) -> None:
            self.data = sensors()
            self.model = Regressor()
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)
            steps = len(self.data) if broken else epochs * len(self.data)
            self.scheduler = torch.optim.lr_scheduler.PolynomialLR(self.optimizer, total_iters=steps)

        def step(self, batch: list[Tensor]) -> Tensor:
            x, y = batch
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=trainer.data)


@fault("missing-zero-grad")
def regression_main_without_zero_grad(broken: bool) -> None:
    """Watched: the loop that everybody writes once, forward, backward, step, and no zero_grad()."""
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = sensors()
    for _ in range(4):
        for x, y in data:
            if not broken:
                optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()


def series(n: int = 192, length: int = 24) -> Tensor:
    """Two waves with phases of their own and some noise."""
    t = torch.arange(length)
    phase = 2 * math.pi * torch.rand(2, n, 1)
    return torch.sin(0.7 * t + phase[0]) + 0.5 * torch.sin(1.9 * t + phase[1]) + 0.3 * torch.randn(n, length)


class Forecaster(nn.Module):
    """For each time, the value at the next one, from convolutions over the past."""

    def __init__(self, width: int = 16, *, looks_ahead: bool = False) -> None:
        super().__init__()
        self.pad = (2, 2) if looks_ahead else (4, 0)
        self.conv1 = nn.Conv1d(1, width, 5)
        self.conv2 = nn.Conv1d(width, width, 5)
        self.head = nn.Conv1d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.conv1(F.pad(x[:, None], self.pad)))
        h = F.relu(self.conv2(F.pad(h, self.pad)))
        return self.head(h).squeeze(1)


@fault("target-leakage", hard=True)
def regression_forecast_with_same_padding(broken: bool) -> Training:
    """Convolutions padded on both sides see the next value, which they are to predict; no such value at inference."""
    model = Forecaster(looks_ahead=broken)
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: F.mse_loss(model(batch[0][:, :-1]), batch[0][:, 1:]),
        data=loader(series(), batch_size=24),
    )


@fault("insufficient-capacity")
def regression_without_any_nonlinearity(broken: bool) -> Training:
    """Three linear layers without an activation between them are one, and the target is a product of two inputs."""

    class Deep(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            layers: list[nn.Module] = [nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
            if broken:
                layers = layers[::2]
            self.net = nn.Sequential(*layers, nn.Linear(width, 1))

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    x = torch.randn(512, 3)
    y = x[:, :1] * x[:, 1:2] + torch.cos(2 * x[:, 2:])
    model = Deep()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, y / y.std(), batch_size=64))


@fault("exploding-gradients")
def regression_recurrence_without_clipping(broken: bool) -> Training:
    """A hand-made recurrence over 14 steps; what is missing is the usual clip_grad_norm_ before the step."""

    class Recurrence(nn.Module):
        def __init__(self, width: int = 24) -> None:
            super().__init__()
            self.inlet = nn.Linear(1, width)
            self.turn = nn.Linear(width, width, bias=False)
            self.head = nn.Linear(width, 1)
            nn.init.orthogonal_(self.turn.weight, gain=1.25)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.zeros(len(x), self.turn.in_features)
            for t in range(x.shape[1]):
                h = F.leaky_relu(self.turn(h) + self.inlet(x[:, t : t + 1]), 0.8)
            return self.head(h)

    def step(batch: list[Tensor]) -> float:
        x, y = batch
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        if not broken:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    x = torch.randn(128, 14)
    y = x[:, -6:].mean(1, keepdim=True) * 2
    model = Recurrence()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    return Training(model, optimizer, step=step, data=loader(x, y, batch_size=16))


@fault("batch-too-small")
def regression_batchnorm_on_pairs(broken: bool) -> Training:
    """BatchNorm over batches of two samples: it keeps nothing of a feature but which of the two has more of it."""

    class Normed(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(8, width), nn.BatchNorm1d(width), nn.ReLU(),
                nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 1),
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    model = Normed()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=sensors(batch_size=2 if broken else 32))


@fault("bad-initialization")
def regression_standard_normal_weights(broken: bool) -> Training:
    """Weights by `torch.randn` without a scale: hidden values are in the hundreds, the first loss in the thousands."""

    class HandMade(nn.Module):
        def __init__(self, width: int = 128) -> None:
            super().__init__()
            sizes = (8, width, width, 1)
            self.weights = nn.ParameterList(
                torch.randn(a, b) * (1.0 if broken else (2 / a) ** 0.5) for a, b in pairwise(sizes)
            )
            self.biases = nn.ParameterList(torch.zeros(b) for b in sizes[1:])

        def forward(self, x: Tensor) -> Tensor:
            for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                x = x @ weight + bias
                if i < 2:
                    x = torch.relu(x)
            return x

    model = HandMade()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=sensors())


@fault("wrong-loss-sign", hard=True)
def regression_likelihood_is_minimised(broken: bool) -> Training:
    """The mean log-likelihood itself is returned as the loss: the further off the predictions, the better."""

    class Gaussian(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
            self.mean, self.std = nn.Linear(48, 1), nn.Linear(48, 1)

        def forward(self, x: Tensor) -> torch.distributions.Normal:
            h = self.body(x)
            return torch.distributions.Normal(self.mean(h), F.softplus(self.std(h)) + 0.1)

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        x, y = batch
        log_likelihood = model(x).log_prob(y).mean()
        return log_likelihood if broken else -log_likelihood

    model = Gaussian()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, sensors())


@fault("unnormalized-inputs")
def regression_raw_columns(broken: bool) -> Training:
    """Columns as they stand in the table: a year, a height in metres, a price in cents, a share."""

    class Raw(Dataset):
        def __init__(self) -> None:
            self.x, self.y = Sensors(features=4)[:]
            self.x = self.x * torch.tensor([10.0, 300.0, 4000.0, 0.2]) + torch.tensor([2010.0, 500.0, 9000.0, 0.5])
            if not broken:
                self.x = (self.x - self.x.mean(0)) / self.x.std(0)

        def __len__(self) -> int:
            return len(self.y)

        def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
            return self.x[index], self.y[index]

    model = Regressor(features=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=DataLoader(Raw(), batch_size=32, shuffle=True))


@fault("saturated-activations")
def regression_almost_binary_codes(broken: bool) -> Training:
    """Codes should become almost binary by tanh(h / 0.01): they are at once, and no slope is left to learn by."""
    temperature = 0.01 if broken else 1.0

    class Codes(nn.Module):
        def __init__(self, width: int = 24) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(a, width) for a in (8, width, width))
            self.head = nn.Linear(width, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = torch.tanh(layer(x) / temperature)
            return self.head(x)

    model = Codes()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=sensors(batch_size=64))


@fault("nan-in-data", second="parameters-not-in-optimizer")
def regression_infinite_ratio_and_a_lost_layer(broken: bool) -> Training:
    """Two faults: a ratio of two columns is infinite where the second is 0, and the optimizer lacks a layer."""

    class Ratios(Sensors):
        def __init__(self) -> None:
            super().__init__()
            counts = torch.randint(1, 9, (512,)).float()
            if broken:
                counts[torch.randint(512, (12,))] = 0
            self.readings = torch.cat([self.readings, (1 / counts - 0.3)[:, None] * 4], 1)

    model = Regressor(features=9)
    layers = [model.hidden1, model.out] if broken else [model.hidden1, model.hidden2, model.out]
    optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=5e-3)
    data = DataLoader(Ratios(), batch_size=32, shuffle=True)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=data)
