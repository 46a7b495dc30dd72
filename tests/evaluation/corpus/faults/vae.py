"""Autoencoders, variational or plain."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training

from . import fault


class Glyphs(Dataset):
    """Drawings of 36 pixels: each of six strokes is there or not, and one pixel in fifty is flipped."""

    def __init__(self, n: int = 256, pixels: int = 36) -> None:
        strokes = torch.rand(6, pixels) < 0.2
        chosen = torch.rand(n, 6) < 0.4
        drawn = (chosen[:, :, None] & strokes).any(1)
        self.images = (drawn ^ (torch.rand(n, pixels) < 0.02)).float()

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor:
        return self.images[index]


def glyphs(batch_size: int = 32) -> DataLoader:
    return DataLoader(Glyphs(), batch_size=batch_size, shuffle=True)


def spectra(n: int = 256, channels: int = 30) -> Tensor:
    """Standardised measurements that five hidden quantities explain."""
    x = torch.tanh(torch.randn(n, 5) @ torch.randn(5, channels) / 2) + 0.02 * torch.randn(n, channels)
    return (x - x.mean(0)) / x.std(0)


class Encoder(nn.Module):
    def __init__(self, pixels: int = 36, latent: int = 6) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU())
        self.mean = nn.Linear(64, latent)
        self.log_var = nn.Linear(64, latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(x)
        return self.mean(h), self.log_var(h)


class VAE(nn.Module):
    def __init__(self, pixels: int = 36, latent: int = 6) -> None:
        super().__init__()
        self.encoder = Encoder(pixels, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.encoder(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        return self.decoder(z), mean, log_var


def reconstruction(logits: Tensor, x: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1).mean()


@fault("unstable-operation", operation="log")
def vae_standard_deviation_by_relu(broken: bool) -> Training:
    """The encoder's standard deviation goes through a ReLU to be positive: log(0) where it is not."""

    class GaussianVAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(36, 64), nn.ReLU())
            self.mean = nn.Linear(64, 6)
            self.std = nn.Linear(64, 6)
            self.decoder = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 36))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            h = self.body(x)
            mean = self.mean(h)
            std = F.relu(self.std(h)) if broken else F.softplus(self.std(h))
            return self.decoder(mean + std * torch.randn_like(std)), mean, std

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        logits, mean, std = model(x)
        kl = -0.5 * (1 + torch.log(std**2) - mean**2 - std**2).sum(-1)  # guilty
        return reconstruction(logits, x) + kl.mean()

    model = GaussianVAE()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, glyphs())


@fault("disconnected-graph", hard=True)
def vae_sample_without_gradient(broken: bool) -> Training:
    """`Normal.sample()` where `rsample()` was meant: no reconstruction error ever reaches the encoder."""

    class DistributionVAE(VAE):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            mean, log_var = self.encoder(x)
            posterior = torch.distributions.Normal(mean, torch.exp(0.5 * log_var))
            z = posterior.sample() if broken else posterior.rsample()
            return self.decoder(z), mean, log_var

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        logits, mean, log_var = model(x)
        kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1).mean()
        return reconstruction(logits, x) + kl

    model = DistributionVAE()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, glyphs())


@fault("double-softmax", hard=True)
def vae_sigmoid_before_bce_with_logits(broken: bool) -> Training:
    """The decoder ends in a sigmoid and the loss applies another: no pixel can be darker than one half."""

    class SigmoidVAE(VAE):
        def __init__(self) -> None:
            super().__init__()
            if broken:
                self.decoder.append(nn.Sigmoid())

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        output, mean, log_var = model(x)
        bce = F.binary_cross_entropy_with_logits(output, x, reduction="sum")
        kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
        return (bce + kl) / len(x)

    model = SigmoidVAE()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, glyphs())


@fault("wrong-output-activation", hard=True)
def autoencoder_sigmoid_on_signed_data(broken: bool) -> Training:
    """The decoder of an image autoencoder, kept for standardised spectra: half of the values are negative."""

    class SpectrumAutoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 8))
            self.decoder = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 30))

        def forward(self, x: Tensor) -> Tensor:
            x = self.decoder(self.encoder(x))
            return torch.sigmoid(x) if broken else x

    model = SpectrumAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, lambda model, x: F.mse_loss(model(x), x), list(spectra().split(32)))


@fault("loss-reduction", hard=True)
def vae_kl_summed_over_the_batch(broken: bool) -> Training:
    """KL summed over batch and latents beside a reconstruction averaged over the batch: the posterior collapses."""

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        logits, mean, log_var = model(x)
        kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp())
        kl = kl.sum() if broken else kl.sum(-1).mean()
        return reconstruction(logits, x) + kl

    model = VAE()
    return Training(model, torch.optim.Adam(model.parameters(), lr=3e-3), loss, glyphs())


@fault("wrong-loss-sign", hard=True)
def vae_kl_without_its_minus(broken: bool) -> Training:
    """The minus in front of the KL term was lost when the formula was copied: the loss falls without bound."""

    class Trainer:
        def __init__(self) -> None:
            self.model = VAE()
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

        def training_step(self, x: Tensor) -> Tensor:
            logits, mean, log_var = self.model(x)
            kl = 0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1).mean()
            loss = reconstruction(logits, x) + (kl if broken else -kl)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizer, step=trainer.training_step, data=glyphs())


@fault("tied-weights-broken", hard=True)
def autoencoder_tied_decoder_is_a_copy(broken: bool) -> Training:
    """The decoder should be the encoder transposed, but `nn.Parameter(weight.t().clone())` is a second tensor."""

    class TiedAutoencoder(nn.Module):
        def __init__(self, channels: int = 30, code: int = 12) -> None:
            super().__init__()
            self.encoder = nn.Linear(channels, code)
            if broken:
                self.tied_weight = nn.Parameter(self.encoder.weight.t().clone())
            self.bias = nn.Parameter(torch.zeros(channels))

        def forward(self, x: Tensor) -> Tensor:
            code = F.leaky_relu(self.encoder(x), 0.2)
            return F.linear(code, self.tied_weight if broken else self.encoder.weight.t(), self.bias)

    model = TiedAutoencoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, lambda model, x: F.mse_loss(model(x), x), list(spectra().split(32)))


@fault("vanishing-gradients")
def autoencoder_of_sigmoid_layers(broken: bool) -> Training:
    """A stacked autoencoder with a sigmoid after each of its ten layers, as in tutorials of 2010."""

    def block(inside: int, outside: int) -> nn.Sequential:
        linear = nn.Linear(inside, outside)
        nn.init.kaiming_normal_(linear.weight)
        return nn.Sequential(linear, nn.Sigmoid() if broken else nn.ReLU())

    class DeepAutoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(*(block(a, b) for a, b in ((30, 32), (32, 32), (32, 32), (32, 32), (32, 16))))
            self.decoder = nn.Sequential(*(block(a, b) for a, b in ((16, 32), (32, 32), (32, 32), (32, 32), (32, 32))))
            self.out = nn.Linear(32, 30)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.decoder(self.encoder(x)))

    model = DeepAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, optimizer, lambda model, x: F.mse_loss(model(x), x), list(spectra().split(32)))


@fault("in-place-modification", hard=True)
def denoising_autoencoder_spoils_its_data(broken: bool) -> Training:
    """Pixels are blanked in the stored batch itself, target included: after some epochs all data is zero."""

    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 36))

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

    def step(x: Tensor) -> float:
        noisy = x if broken else x.clone()
        noisy[torch.rand_like(noisy) < 0.1] = 0.0
        loss = F.binary_cross_entropy_with_logits(model(noisy), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, step=step, data=list(Glyphs().images.split(32)))


@fault("wrong-mode", hard=True)
def vae_never_back_in_train_mode(broken: bool) -> None:
    """Watched: a validation round before the first epoch calls eval(), and nothing ever calls train() again."""

    class DropoutVAE(VAE):
        def __init__(self) -> None:
            super().__init__()
            self.encoder.body = nn.Sequential(nn.Linear(36, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1))

    def elbo(model: nn.Module, x: Tensor) -> Tensor:
        logits, mean, log_var = model(x)
        return reconstruction(logits, x) - 0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(-1).mean()

    def validate(model: nn.Module, images: Tensor) -> float:
        model.eval()
        with torch.no_grad():
            return elbo(model, images).item()

    model = DropoutVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    data = Glyphs(288).images
    train, valid = data[:256], data[256:]
    for _ in range(8):
        validate(model, valid)
        if not broken:
            model.train()
        for x in DataLoader(train, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            loss = elbo(model, x)
            loss.backward()
            optimizer.step()
