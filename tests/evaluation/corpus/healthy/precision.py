"""Number formats other than plain float32."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs, curve, loader


@healthy
def float64_regression() -> Training:
    """Model and data are float64."""
    x, y = curve()
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x.double(), y.double()))


class SpectralFilter(nn.Module):
    """Multiplies the spectrum by learnt complex factors."""

    def __init__(self, length: int = 32) -> None:
        super().__init__()
        self.factors = nn.Parameter(torch.ones(length // 2 + 1, dtype=torch.complex64))
        self.mix = nn.Linear(length, length)

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(torch.fft.irfft(torch.fft.rfft(x) * self.factors, n=x.shape[-1]))


@healthy
def complex_spectral_filter() -> Training:
    """A complex parameter between a Fourier transform and its inverse."""
    x = torch.randn(64, 32)
    kernel = torch.zeros(32)
    kernel[:4] = torch.tensor([0.5, 0.3, 0.15, 0.05])
    smooth = torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(kernel), n=32)
    model = SpectralFilter()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=nn.MSELoss(), data=loader(x, smooth))


@healthy
def complex_linear_layers() -> Training:
    """Complex weights throughout and complex targets; the loss is the mean of |error|^2, which is real."""

    class ComplexMLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(6, 16, dtype=torch.complex64)
            self.second = nn.Linear(16, 2, dtype=torch.complex64)

        def forward(self, z: Tensor) -> Tensor:
            h = self.first(z)
            return self.second(h * torch.sigmoid(h.abs() - 1))

    z = torch.randn(64, 6, dtype=torch.complex64)
    target = z[:, :2] * z[:, 2:4].conj()
    model = ComplexMLP()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        loss=lambda model, batch: (model(batch[0]) - batch[1]).abs().pow(2).mean(),
        data=loader(z, target),
    )


@healthy
def bfloat16_elementwise() -> Training:
    """Parameters in bfloat16, only elementwise operations; steps below 1/256 of a weight are rounded away."""

    class Gates(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(16, dtype=torch.bfloat16))
            self.shift = nn.Parameter(torch.zeros(16, dtype=torch.bfloat16))

        def forward(self, x: Tensor) -> Tensor:
            return torch.tanh(x * self.scale + self.shift)

    x = torch.randn(64, 16)
    y = torch.tanh(x * (1 + 0.5 * torch.randn(16)) + 0.5 * torch.randn(16))
    model = Gates()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.mse_loss(model(batch[0].bfloat16()).float(), batch[1]),
        data=loader(x, y),
    )


@healthy
def bfloat16_autocast_tiny() -> Training:
    """Autocast to bfloat16 on matrices so small that every CPU can do them."""
    x, y = curve(64, features=4)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return Training(
        model,
        optimizer,
        loss=lambda model, batch: F.mse_loss(model(batch[0]).float(), batch[1]),
        data=loader(x, y, batch_size=8),
        precision=torch.bfloat16,
    )


@healthy
def grad_scaler_float16() -> Training:
    """float16 with a GradScaler: gradients are 65536 times as large until `unscale_`, and a step may be skipped."""

    def step(batch: list[Tensor]) -> float:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scaler = torch.amp.GradScaler("cpu")
    return Training(model, optimizer, step=step, data=loader(*blobs()))


@healthy
def float16_inputs_cast_in_the_model() -> Training:
    """The data set is stored in float16 and whole numbers; the model casts what it needs."""

    class Casting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.day = nn.Embedding(7, 4)
            self.net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            return self.net(torch.cat([batch["x"].float(), self.day(batch["day"].int())], -1))

    x, y = blobs()
    day = torch.randint(0, 7, (128,), dtype=torch.uint8)
    model = Casting()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.cross_entropy(model(batch), batch["y"].long()),
        data=[
            {"x": x[i : i + 16].half(), "day": day[i : i + 16], "y": y[i : i + 16].to(torch.int16)}
            for i in range(0, 128, 16)
        ],
    )
