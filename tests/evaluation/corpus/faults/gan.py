"""Adversarial trainings."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from . import fault

LATENT = 4


def ring(n: int = 256, batch_size: int = 32) -> list[Tensor]:
    """Points around the unit circle, so half of all coordinates are negative."""
    angle = 6.283 * torch.rand(n)
    return list((torch.stack([angle.cos(), angle.sin()], -1) + 0.05 * torch.randn(n, 2)).split(batch_size))


class Ring:
    """The same points, all in memory: batches are slices of them."""

    def __init__(self, batch_size: int = 32) -> None:
        self.points, self.batch_size = torch.cat(ring()), batch_size

    def __len__(self) -> int:
        return len(self.points) // self.batch_size

    def __iter__(self) -> Iterator[Tensor]:
        for start in range(0, len(self.points), self.batch_size):
            yield self.points[start : start + self.batch_size]


class Generator(nn.Module):
    def __init__(self, last: nn.Module | None = None, width: int = 32) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 2), last or nn.Identity(),
        )  # fmt: skip

    def forward(self, z: Tensor) -> Tensor:
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, last: nn.Module | None = None, width: int = 32) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 1), last or nn.Identity(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


def says(logit: Tensor, real: bool) -> Tensor:
    return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, float(real)))


def adam(model: nn.Module, lr: float = 2e-3) -> torch.optim.Adam:
    return torch.optim.Adam(model.parameters(), lr=lr, betas=(0.5, 0.999))


def both(
    generator: nn.Module, discriminator: nn.Module, optimizers: tuple[torch.optim.Optimizer, ...], step, data=None
) -> Training:
    models = {"generator": generator, "discriminator": discriminator}
    return Training(
        models, dict(zip(models, optimizers, strict=True)), step=step, data=ring() if data is None else data
    )


@fault("disconnected-graph", hard=True)
def generator_judged_on_detached_samples(broken: bool) -> Training:
    """The `detach()` for the discriminator's turn was put where the samples are made: the generator never learns.

    Both losses look like those of a GAN: the discriminator gets better and better.
    """
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        fake = generator(torch.randn(len(real), LATENT))
        if broken:
            fake = fake.detach()
        loss_d = says(discriminator(real), True) + says(discriminator(fake.detach()), False)
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()

        loss_g = says(discriminator(fake), True)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        return loss_d + loss_g

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


@fault("parameters-not-in-optimizer")
def both_optimizers_on_the_discriminator(broken: bool) -> Training:
    """A copied line: the generator's optimizer was given the discriminator's parameters, to fool itself as well."""
    generator, discriminator = Generator(), Discriminator()
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    trained = discriminator if broken else generator
    optimizer_g = torch.optim.Adam(trained.parameters(), lr=2e-3, betas=(0.5, 0.999))

    def step(real: Tensor) -> Tensor:
        z = torch.randn(len(real), LATENT)
        optimizer_d.zero_grad()
        loss_d = says(discriminator(real), True) + says(discriminator(generator(z).detach()), False)
        loss_d.backward()
        optimizer_d.step()

        optimizer_g.zero_grad()
        loss_g = says(discriminator(generator(z)), True)
        loss_g.backward()
        optimizer_g.step()
        return loss_g

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


@fault("missing-zero-grad", hard=True)
def discriminator_never_cleared(broken: bool) -> Training:
    """Only the generator's gradients are cleared: the discriminator steps along the sum of all, the generator's turns
    included, which pull the other way."""
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        z = torch.randn(len(real), LATENT)
        optimizer_g.zero_grad()
        loss_g = says(discriminator(generator(z)), True)
        loss_g.backward()
        optimizer_g.step()

        if not broken:
            optimizer_d.zero_grad()
        loss_d = (says(discriminator(real), True) + says(discriminator(generator(z).detach()), False)) / 2
        loss_d.backward()
        optimizer_d.step()
        return loss_d

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


@fault("missing-zero-grad", hard=True)
def discriminator_cleared_before_the_generators_turn(broken: bool) -> Training:
    """Cleared after its own step only: what the generator's turn leaves on it stays for its next one, and pulls the
    other way."""
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        z = torch.randn(len(real), LATENT)
        optimizer_g.zero_grad()
        loss_g = says(discriminator(generator(z)), True)
        loss_g.backward()
        optimizer_g.step()

        if not broken:
            optimizer_d.zero_grad()
        loss_d = (says(discriminator(real), True) + says(discriminator(generator(z).detach()), False)) / 2
        loss_d.backward()
        optimizer_d.step()
        optimizer_d.zero_grad()
        return loss_d

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


@fault("wrong-output-activation", hard=True)
def generator_ends_in_sigmoid(broken: bool) -> Training:
    """Data from -1 to 1, a generator that ends in a sigmoid: three quarters of the circle can never be drawn."""
    generator, discriminator = Generator(nn.Sigmoid() if broken else nn.Tanh()), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        fake = generator(torch.randn(len(real), LATENT))
        loss_d = says(discriminator(real), True) + says(discriminator(fake.detach()), False)
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()
        loss_g = says(discriminator(fake), True)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        return loss_g

    data = [points.clamp(-1, 1) for points in ring()]
    return both(generator, discriminator, (optimizer_g, optimizer_d), step, data)


@fault("double-softmax", hard=True)
def sigmoid_in_the_discriminator_and_in_the_loss(broken: bool) -> Training:
    """The discriminator ends in a sigmoid, as in the DCGAN tutorial; the loss is the one with logits, which repeats it.

    The discriminator can then say at most 0.73 for "real" and at least 0.5 for "fake".
    """
    generator = Generator()
    discriminator = Discriminator(nn.Sigmoid() if broken else None)
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)
    criterion = nn.BCEWithLogitsLoss()

    def step(real: Tensor) -> Tensor:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), LATENT))
        discriminator.zero_grad()
        loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
        loss_d.backward()
        optimizer_d.step()
        generator.zero_grad()
        loss_g = criterion(discriminator(fake), ones)
        loss_g.backward()
        optimizer_g.step()
        return loss_d

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


def set_requires_grad(model: nn.Module, wanted: bool) -> None:
    for p in model.parameters():
        p.requires_grad = wanted


@fault("frozen-parameters")
def discriminator_never_unfrozen(broken: bool) -> Training:
    """`set_requires_grad(discriminator, False)` before the generator's turn, as in CycleGAN, and nobody undoes it."""
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        set_requires_grad(discriminator, False)
        fake = generator(torch.randn(len(real), LATENT))
        loss_g = says(discriminator(fake), True)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()

        if not broken:
            set_requires_grad(discriminator, True)
        optimizer_d.zero_grad()
        loss_d = says(discriminator(real), True) + says(discriminator(generator(torch.randn(len(real), LATENT))), False)
        loss_d.backward()
        optimizer_d.step()
        return loss_d

    return both(generator, discriminator, (optimizer_g, optimizer_d), step)


@fault("wrong-loss-sign")
def critic_scores_the_wrong_way(broken: bool) -> Training:
    """WGAN whose critic minimises real - fake instead of fake - real: both then pull alike, and samples run away.

    The loss falls without end, as the generator moves where the critic wants it.
    """
    generator, critic = Generator(), Discriminator()
    optimizer_g = torch.optim.RMSprop(generator.parameters(), lr=2e-3)
    optimizer_c = torch.optim.RMSprop(critic.parameters(), lr=2e-3)

    def step(real: Tensor) -> float:
        for _ in range(2):
            fake = generator(torch.randn(len(real), LATENT)).detach()
            loss_c = critic(fake).mean() - critic(real).mean()
            if broken:
                loss_c = -loss_c
            optimizer_c.zero_grad()
            loss_c.backward()
            optimizer_c.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-0.2, 0.2)
        loss_g = -critic(generator(torch.randn(len(real), LATENT))).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        return loss_c.item()

    return both(generator, critic, (optimizer_g, optimizer_c), step)


@fault("in-place-modification", hard=True)
def instance_noise_stays_in_the_data(broken: bool) -> Training:
    """Instance noise is added to the real batch in place (`+=`), so it stays: with each epoch the data are noisier.

    The generator learns a blob that grows, no longer the circle.
    """
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)

    def step(real: Tensor) -> Tensor:
        noise = 0.1 * torch.randn_like(real)
        if broken:
            real += noise
        else:
            real = real + noise
        fake = generator(torch.randn(len(real), LATENT))
        optimizer_d.zero_grad()
        loss_d = says(discriminator(real), True) + says(discriminator(fake.detach()), False)
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = says(discriminator(fake), True)
        loss_g.backward()
        optimizer_g.step()
        return loss_d

    return both(generator, discriminator, (optimizer_g, optimizer_d), step, Ring())


@fault("nan-in-data")
def recording_with_missing_values(broken: bool) -> None:
    """One recording of the real data has missing values (NaN) that a cleaning step should have left out."""
    batches = ring()
    batches[3][5] = float("nan")
    if not broken:
        batches = [batch[~batch.isnan().any(1)] for batch in batches]
    generator, discriminator = Generator(), Discriminator()
    optimizer_g, optimizer_d = adam(generator), adam(discriminator)
    for _ in range(8):
        for real in batches:
            fake = generator(torch.randn(len(real), LATENT))
            optimizer_d.zero_grad()
            loss_d = says(discriminator(real), True) + says(discriminator(fake.detach()), False)
            loss_d.backward()
            optimizer_d.step()
            optimizer_g.zero_grad()
            loss_g = says(discriminator(fake), True)
            loss_g.backward()
            optimizer_g.step()
