"""Autoencoders with a probabilistic, discrete or masked middle, and flows."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import healthy
from .toydata import images, loader


def binary_images(n: int = 64) -> Tensor:
    """Four patterns in 36 pixels with a tenth of the pixels flipped."""
    patterns = torch.randint(0, 2, (4, 36))
    flipped = torch.rand(n, 36) < 0.1
    return (patterns[torch.arange(n) % 4] ^ flipped).float()


class VAE(nn.Module):
    def __init__(self, pixels: int = 36, latent: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 32), nn.ReLU(), nn.Linear(32, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, pixels))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return self.decoder(z), mean, log_var


def elbo(output: tuple[Tensor, Tensor, Tensor], x: Tensor, beta: float = 1.0) -> Tensor:
    logits, mean, log_var = output
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
    kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1)
    return (reconstruction + beta * kl).mean()


@healthy
def vae_elbo() -> Training:
    """The negative ELBO has a floor far above zero and fresh noise in each step."""
    model = VAE()
    return Training(
        model, torch.optim.Adam(model.parameters(), lr=3e-3), lambda model, batch: elbo(model(batch[0]), batch[0]),
        loader(binary_images()),
    )  # fmt: skip


@healthy
def vae_kl_annealing() -> Training:
    """The weight of the KL term rises from 0 to 1 over 100 steps, so the loss may rise while all is well."""

    class Trainer:
        def __init__(self) -> None:
            self.model = VAE()
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
            self.steps = 0

        def step(self, batch: list[Tensor]) -> Tensor:
            beta = min(1.0, self.steps / 100)
            self.steps += 1
            self.optimizer.zero_grad()
            loss = elbo(self.model(batch[0]), batch[0], beta)
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=loader(binary_images()))


@healthy
def vae_heavy_beta() -> Training:
    """The error is a mean over pixels, and each divergence counts as 14 errors: little is kept, on purpose."""

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        output, mean, log_var = model(batch[0])
        kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1).mean()
        return F.mse_loss(output, batch[0]) + 0.4 * kl

    model, patterns = VAE(), 4 * torch.randn(4, 36)
    data = patterns[torch.arange(64) % 4] + 0.1 * torch.randn(64, 36)
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, loader(data))


class VectorQuantizer(nn.Module):
    def __init__(self, codes: int = 8, width: int = 4) -> None:
        super().__init__()
        self.codebook = nn.Embedding(codes, width)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        nearest = torch.cdist(z.detach().flatten(0, 1), self.codebook.weight.detach()).argmin(-1)
        quantized = self.codebook(nearest).view_as(z)
        loss = F.mse_loss(quantized, z.detach()) + 0.25 * F.mse_loss(z, quantized.detach())
        return z + (quantized - z).detach(), loss


class VQVAE(nn.Module):
    """Nine patches of four pixels become nine codes."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 36), nn.Unflatten(1, (9, 4)), nn.LayerNorm(4)
        )
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Flatten(), nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 36))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        quantized, loss = self.quantizer(self.encoder(x))
        return self.decoder(quantized), loss


@healthy
def vqvae_straight_through() -> Training:
    """The gradient jumps over the argmin; codes that no sample chose get a gradient of zero."""

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        logits, commitment = model(batch[0])
        return F.binary_cross_entropy_with_logits(logits, batch[0]) + commitment

    model = VQVAE()
    return Training(model, torch.optim.Adam(model.parameters(), lr=2e-3), loss, loader(binary_images()))


class Coupling(nn.Module):
    def __init__(self, flip: bool) -> None:
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.flip(-1).chunk(2, -1) if self.flip else x.chunk(2, -1)
        log_scale, shift = self.net(a).chunk(2, -1)
        log_scale = torch.tanh(log_scale)
        return torch.cat([a, b * log_scale.exp() + shift], -1), log_scale.squeeze(-1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(flip=bool(i % 2)) for i in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Log-likelihood of each sample."""
        total = torch.zeros(len(x))
        for coupling in self.couplings:
            x, log_det = coupling(x)
            total = total + log_det
        return total - 0.5 * (x**2).sum(-1) - math.log(2 * math.pi)


@healthy
def flow_negative_log_likelihood() -> Training:
    """The data is narrow (standard deviation 0.2), so the loss crosses zero; the flow starts as the identity."""
    angle = torch.rand(128) * 3.14
    x = 0.5 * torch.stack([angle.cos(), angle.sin()], -1) + 0.02 * torch.randn(128, 2)
    model = Flow()
    return Training(
        model, torch.optim.Adam(model.parameters(), lr=5e-3), lambda model, x: -model(x).mean(), list(x.split(32))
    )


class MaskedAutoencoder(nn.Module):
    def __init__(self, patches: int = 9, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.position = nn.Parameter(0.1 * torch.randn(patches, width))
        self.mask_token = nn.Parameter(torch.zeros(width))
        self.encoder = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(width, 16)

    def forward(self, x: Tensor) -> Tensor:
        patches = F.unfold(x, 4, stride=4).transpose(1, 2)
        order = torch.rand(patches.shape[:2]).argsort(1)
        kept, dropped = order[:, :4], order[:, 4:]
        rows = torch.arange(len(x))[:, None]
        hidden = self.encoder((self.embed(patches) + self.position)[rows, kept])
        full = self.mask_token.expand(*patches.shape[:2], -1).clone()
        full[rows, kept] = hidden
        predicted = self.head(self.decoder(full + self.position))
        return F.mse_loss(predicted[rows, dropped], patches[rows, dropped])


@healthy
def masked_autoencoder() -> Training:
    """Other patches are hidden in each step, and their noise cannot be guessed: the loss stops at its floor."""
    x, _ = images(64, classes=4)
    model = MaskedAutoencoder()
    return Training(model, torch.optim.AdamW(model.parameters(), lr=3e-3), lambda model, x: model(x), list(x.split(16)))


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 36))
        self.register_buffer("mean", torch.zeros(36))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.seen += 1
            self.mean += (x.mean(0) - self.mean) / self.seen
            x = x + 0.5 * torch.randn_like(x)
        return self.net(x - self.mean)


@healthy
def denoising_autoencoder_running_mean() -> Training:
    """Buffers are updated in the forward pass, one of them a whole number; noise is added in train mode."""
    model = Denoiser()
    return Training(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        loss=lambda model, batch: F.binary_cross_entropy_with_logits(model(batch[0]), batch[0]),
        data=loader(binary_images()),
    )


@healthy
def gumbel_softmax_autoencoder() -> Training:
    """A discrete code by `gumbel_softmax(hard=True)` with a temperature that cools down: noisy gradients."""

    class Categorical(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(36, 32), nn.ReLU(), nn.Linear(32, 4 * 4))
            self.decoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 36))

        def forward(self, x: Tensor, temperature: float) -> Tensor:
            code = F.gumbel_softmax(self.encoder(x).unflatten(-1, (4, 4)), tau=temperature, hard=True)
            return self.decoder(code.flatten(1))

    def step(batch: list[Tensor]) -> Tensor:
        temperature[0] = max(0.5, 0.99 * temperature[0])
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(batch[0], temperature[0]), batch[0])
        loss.backward()
        optimizer.step()
        return loss

    temperature = [1.0]
    model = Categorical()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, step=step, data=loader(binary_images()))


@healthy
def annealed_by_a_counter() -> Training:
    """The weight of the divergence is a buffer that counts up by a hundredth at every step: a schedule, no damage."""

    class Annealed(VAE):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("beta", torch.tensor(0.0))

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        model.beta += 0.01
        return elbo(model(batch[0]), batch[0], beta=float(model.beta.clamp(max=1.0)))

    model = Annealed()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, loss, loader(binary_images()))
