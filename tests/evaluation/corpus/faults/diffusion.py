"""Diffusion and flow matching: fresh noise in each step, so most losses have a floor."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from . import fault

STEPS = 50


def spiral(n: int = 256) -> Tensor:
    t = torch.rand(n).sqrt() * 9
    return torch.stack([t * t.cos(), t * t.sin()], -1) / 5 + 0.03 * torch.randn(n, 2)


def alpha_bar() -> Tensor:
    return (1 - torch.linspace(1e-3, 0.2, STEPS)).cumprod(0)


class Denoiser(nn.Module):
    """Predicts the noise in x from x and the time in 0..1."""

    def __init__(self, size: int = 2, width: int = 48) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.inlet = nn.Linear(size, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, size))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.body(self.inlet(x) + self.time(t))


class NoisySpiral(Dataset):
    """Each item is noised anew when it is fetched."""

    def __init__(self) -> None:
        self.points = spiral()
        self.alpha_bar = alpha_bar()

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        t = torch.randint(STEPS, (1,))
        noise = torch.randn(2)
        kept = self.alpha_bar[t]
        return {"noisy": kept.sqrt() * self.points[index] + (1 - kept).sqrt() * noise, "t": t, "noise": noise}


@fault("ignores-input", hard=True)
def diffusion_time_rounded_to_zero(broken: bool) -> Training:
    """`t // STEPS` is 0 for every time step: the denoiser cannot know how much noise there is."""

    class TimedDenoiser(Denoiser):
        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            time = t // STEPS if broken else t / STEPS
            return super().forward(x, time.float())

    model = TimedDenoiser()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.mse_loss(model(batch["noisy"], batch["t"]), batch["noise"]),
        data=DataLoader(NoisySpiral(), batch_size=32, shuffle=True),
    )


@fault("target-shape-mismatch")
def diffusion_of_numbers_broadcast(broken: bool) -> Training:
    """Data of one dimension: predicted noise (N, 1) minus noise (N,) is (N, N), and the best guess is the mean."""

    def step(x: Tensor) -> Tensor:
        noise = torch.randn_like(x)
        t = torch.rand(len(x))
        mixed = (1 - t) * x + t * noise
        predicted = model(mixed[:, None], t[:, None])
        if not broken:
            predicted = predicted.squeeze(-1)
        loss = ((predicted - noise) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.where(torch.rand(256) < 0.5, -1.5, 1.5) + 0.1 * torch.randn(256)
    model = Denoiser(size=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=list(x.split(64)))


@fault("wrong-mode", hard=True)
def diffusion_preview_leaves_eval_mode(broken: bool) -> Training:
    """Samples are drawn for a preview before the first step, in eval mode, and training goes on in that mode."""

    class NormedDenoiser(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(3, width), nn.BatchNorm1d(width), nn.SiLU(), nn.Dropout(0.05),
                nn.Linear(width, width), nn.BatchNorm1d(width), nn.SiLU(), nn.Linear(width, 2),
            )  # fmt: skip

        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            return self.net(torch.cat([x, t], -1))

    class Trainer:
        def __init__(self) -> None:
            self.model = NormedDenoiser()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
            self.done = 0

        @torch.no_grad()
        def preview(self) -> Tensor:
            self.model.eval()
            x = torch.randn(16, 2)
            for t in torch.linspace(0, 0.9, 10):
                x = x + 0.1 * self.model(x, t.expand(16, 1))
            if not broken:
                self.model.train()
            return x

        def step(self, x: Tensor) -> float:
            if self.done % 100 == 0:
                self.preview()
            self.done += 1
            noise, t = torch.randn_like(x), torch.rand(len(x), 1)
            loss = F.mse_loss(self.model((1 - t) * x + t * noise, t), noise)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=list(spiral().split(64)))


@fault("lr-too-high")
def diffusion_learning_rate_of_sgd(broken: bool) -> Training:
    """Adam with the learning rate of the SGD recipe that it replaced."""

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        t = torch.randint(STEPS, (len(x), 1))
        noise = torch.randn_like(x)
        kept = alphas[t]
        return F.mse_loss(model(kept.sqrt() * x + (1 - kept).sqrt() * noise, t / STEPS), noise)

    alphas = alpha_bar()
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5 if broken else 5e-3)
    return Training(model, optimizer, loss, list(spiral().split(64)))


@fault("scheduler-misuse")
def diffusion_warm_up_by_whole_numbers(broken: bool) -> Training:
    """`step // WARM_UP` in the warm-up: the learning rate is 0 for the first 500 steps."""
    warm_up = 500

    class Trainer:
        def __init__(self) -> None:
            self.model = Denoiser()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-2)
            self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.factor)

        @staticmethod
        def factor(step: int) -> float:
            return min(1.0, (step + 1) // warm_up if broken else (step + 1) / warm_up)

        def step(self, x: Tensor) -> Tensor:
            noise, t = torch.randn_like(x), torch.rand(len(x), 1)
            loss = F.mse_loss(self.model((1 - t) * x + t * noise, t), noise)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            return loss.detach()

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=list(spiral().split(64)))


@fault("low-precision-overflow", operation="pow")
def diffusion_noise_levels_in_half(broken: bool) -> Training:
    """Noise levels up to 400 are kept in float16 to save memory: their squares are beyond its 65504."""

    class Preconditioned(nn.Module):
        """Brings the noisy input to unit size, and the noise level to the size of a feature (EDM)."""

        def __init__(self) -> None:
            super().__init__()
            self.net = Denoiser()

        def forward(self, noisy: Tensor, sigma: Tensor) -> Tensor:
            return self.net(noisy / (sigma**2 + 1).sqrt(), sigma.log().float() / 4)

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        sigma = torch.empty(len(x), 1).uniform_(-3, 6).exp()
        if broken:
            sigma = sigma.half()
        noise = torch.randn_like(x)
        weight = sigma**2 / (sigma**2 + 1)  # guilty
        return (weight * (model(x + sigma * noise, sigma) - noise) ** 2).mean()

    model = Preconditioned()
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, list(spiral().split(64)))


@fault("parameters-not-in-optimizer", hard=True)
def diffusion_class_embedding_added_late(broken: bool) -> Training:
    """The embedding of the class is put into the model after the optimizer was made, as in many a fine-tuning."""

    class Conditional(nn.Module):
        def __init__(self, width: int = 48) -> None:
            super().__init__()
            self.denoiser = Denoiser(width=width)
            self.label: nn.Module | None = None

        def forward(self, x: Tensor, t: Tensor, label: Tensor) -> Tensor:
            h = self.denoiser.inlet(x) + self.denoiser.time(t)
            if self.label is not None:
                h = h + self.label(label)
            return self.denoiser.body(h)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        x = batch["x"]
        noise, t = torch.randn_like(x), torch.rand(len(x), 1)
        return F.mse_loss(model((1 - t) * noise + t * x, t, batch["label"]), x - noise)

    label = torch.arange(256) % 4
    x = 0.4 * spiral() + torch.randn(4, 2)[label] * 2
    batches = [{"x": x[i : i + 64], "label": label[i : i + 64]} for i in range(0, 256, 64)]
    model = Conditional()
    if not broken:
        model.label = nn.Embedding(4, 48)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    if broken:
        model.label = nn.Embedding(4, 48)
    return Training(model, optimizer, loss, batches)


@fault("gradients-cleared-before-step", second="wrong-mode")
def diffusion_cleared_gradients_in_eval_mode(broken: bool) -> Training:
    """Two faults: zero_grad() stands between backward() and step(), and the model is in eval mode throughout."""

    class NormedDenoiser(nn.Module):
        def __init__(self, width: int = 64) -> None:
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(3, width), nn.BatchNorm1d(width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                nn.Dropout(0.1), nn.Linear(width, 2),
            )  # fmt: skip

        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            return self.net(torch.cat([x, t], -1))

    def step(x: Tensor) -> Tensor:
        if broken:
            model.eval()
        noise, t = torch.randn_like(x), torch.rand(len(x), 1)
        if not broken:
            optimizer.zero_grad()
        loss = F.mse_loss(model((1 - t) * x + t * noise, t), noise)
        loss.backward()
        if broken:
            optimizer.zero_grad()
        optimizer.step()
        return loss

    model = NormedDenoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=list(spiral().split(64)))
