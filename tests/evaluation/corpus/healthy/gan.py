"""Adversarial trainings: the losses of the two sides need not fall, and what is healthy is the balance."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from pytest_trainhealth import Training

from . import healthy
from .toydata import blobs

LATENT = 4


def ring(n: int = 128) -> list[Tensor]:
    angle = 6.283 * torch.rand(n)
    return list((torch.stack([angle.cos(), angle.sin()], -1) + 0.05 * torch.randn(n, 2)).split(32))


def mlp(inputs: int, outputs: int, width: int = 32) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    )  # fmt: skip


@healthy
def gan_two_optimizers() -> Training:
    """The usual alternation; the returned loss is the generator's, which rises as the discriminator gets better."""

    def step(real: Tensor) -> Tensor:
        fake = generator(torch.randn(len(real), LATENT))
        optimizer_d.zero_grad()
        real_logit, fake_logit = discriminator(real), discriminator(fake.detach())
        loss_d = F.binary_cross_entropy_with_logits(real_logit, torch.full_like(real_logit, 0.9))
        loss_d = loss_d + F.binary_cross_entropy_with_logits(fake_logit, torch.zeros_like(fake_logit))
        loss_d.backward()
        optimizer_d.step()

        optimizer_g.zero_grad()
        logit = discriminator(fake)
        loss_g = F.binary_cross_entropy_with_logits(logit, torch.ones_like(logit))
        loss_g.backward()
        optimizer_g.step()
        return loss_g

    generator, discriminator = mlp(LATENT, 2), mlp(2, 1)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    return Training(
        {"generator": generator, "discriminator": discriminator},
        {"generator": optimizer_g, "discriminator": optimizer_d},
        step=step,
        data=ring(),
    )


@healthy
def wgan_weight_clipping() -> Training:
    """Five critic steps a step, weights clamped after each; the critic's last bias cancels out and never moves."""

    def step(real: Tensor) -> float:
        for _ in range(5):
            optimizer_c.zero_grad()
            with torch.no_grad():
                fake = generator(torch.randn(len(real), LATENT))
            (critic(fake).mean() - critic(real).mean()).backward()
            optimizer_c.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-0.1, 0.1)
        optimizer_g.zero_grad()
        loss = -critic(generator(torch.randn(len(real), LATENT))).mean()
        loss.backward()
        optimizer_g.step()
        return loss.item()

    generator, critic = mlp(LATENT, 2, 16), mlp(2, 1, 16)
    optimizer_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
    optimizer_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
    model = nn.ModuleDict({"generator": generator, "critic": critic})
    return Training(model, [optimizer_g, optimizer_c], step=step, data=ring())


@healthy
def wgan_gradient_penalty() -> Training:
    """The critic's loss holds the gradient of its own output (`create_graph`), so backward goes through it twice."""

    class Trainer:
        def __init__(self) -> None:
            self.model = nn.ModuleDict({"generator": mlp(LATENT, 2), "critic": mlp(2, 1)})
            self.optimizers = {
                "generator": torch.optim.Adam(self.model["generator"].parameters(), lr=1e-3, betas=(0.5, 0.9)),
                "critic": torch.optim.Adam(self.model["critic"].parameters(), lr=1e-3, betas=(0.5, 0.9)),
            }

        def critic_loss(self, real: Tensor, fake: Tensor) -> Tensor:
            critic = self.model["critic"]
            between = torch.lerp(real, fake, torch.rand(len(real), 1)).requires_grad_()
            (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
            return critic(fake).mean() - critic(real).mean() + 0.1 * penalty  # as the authors do on toy data

        def step(self, real: Tensor) -> Tensor:
            for _ in range(3):
                fake = self.model["generator"](torch.randn(len(real), LATENT))
                loss = self.critic_loss(real, fake.detach())
                self.optimizers["critic"].zero_grad()
                loss.backward()
                self.optimizers["critic"].step()
            self.optimizers["generator"].zero_grad()
            (-self.model["critic"](fake).mean()).backward()
            self.optimizers["generator"].step()
            return loss.detach()

    trainer = Trainer()
    return Training(trainer.model, trainer.optimizers, step=trainer.step, data=ring())


@healthy
def gan_hinge_spectral_norm() -> Training:
    """Hinge losses and a spectrally normalised discriminator, whose power iteration changes buffers in each forward."""

    class HingeGAN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = nn.Sequential(
                nn.Linear(LATENT, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(),
                nn.Linear(32, 2),
            )  # fmt: skip
            self.discriminator = nn.Sequential(
                spectral_norm(nn.Linear(2, 64)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(64, 64)),
                nn.LeakyReLU(0.2), spectral_norm(nn.Linear(64, 1)),
            )  # fmt: skip

    def step(real: Tensor) -> Tensor:
        z = torch.randn(len(real), LATENT)
        optimizer_d.zero_grad()
        with torch.no_grad():
            fake = model.generator(z)
        loss_d = F.relu(1 - model.discriminator(real)).mean() + F.relu(1 + model.discriminator(fake)).mean()
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = -model.discriminator(model.generator(z)).mean()
        loss_g.backward()
        optimizer_g.step()
        return loss_d

    model = HingeGAN()
    optimizer_g = torch.optim.Adam(model.generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    optimizer_d = torch.optim.Adam(model.discriminator.parameters(), lr=4e-3, betas=(0.0, 0.9))
    return Training(model, (optimizer_g, optimizer_d), step=step, data=ring())


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return -0.3 * gradient


@healthy
def domain_adversarial_gradient_reversal() -> Training:
    """One optimizer, one loss, but the features climb the domain loss: it is meant to stay at log 2."""

    class DANN(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
            self.label = nn.Linear(32, 4)
            self.domain = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            h = self.features(x)
            return self.label(h), self.domain(GradientReversal.apply(h)).squeeze(-1)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        labels, domains = model(torch.cat([batch["source"], batch["target"]]))
        half = len(batch["source"])
        domain = torch.cat([torch.zeros(half), torch.ones(len(batch["target"]))])
        return F.cross_entropy(labels[:half], batch["label"]) + F.binary_cross_entropy_with_logits(domains, domain)

    x, y = blobs(128)
    shift = 0.3 * torch.randn(16)
    batches = [
        {"source": x[i : i + 16], "label": y[i : i + 16], "target": x[i + 16 : i + 32] + shift}
        for i in range(0, 128, 32)
    ]
    model = DANN()
    return Training(model, torch.optim.Adam(model.parameters(), lr=2e-3), loss, batches)
