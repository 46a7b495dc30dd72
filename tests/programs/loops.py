"""Training loops as people write them, each with planted faults; `"none"` is the healthy twin.

Every loop is handed in twice: returned as a `Training`, and run by itself, as a test that returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

Batch = tuple[Tensor, Tensor]


@dataclass
class Loop:
    models: dict[str, nn.Module]
    optimizers: dict[str, torch.optim.Optimizer]
    step: Callable[[Batch], Tensor]
    data: list[Batch]
    epochs: int = 8

    def run(self) -> None:
        for _ in range(self.epochs):
            for batch in self.data:
                self.step(batch)

    def training(self) -> Training:
        models: Any = self.models if len(self.models) > 1 else next(iter(self.models.values()))
        return Training(models, self.optimizers or None, step=self.step, data=self.data)


def pictures(batches: int = 8, size: int = 16) -> list[Batch]:
    """Twelve numbers a sample, in four classes that can be told apart."""
    centres = torch.randn(4, 12) * 2
    found = []
    for _ in range(batches):
        labels = torch.randint(0, 4, (size,))
        found.append((centres[labels] + torch.randn(size, 12), labels))
    return found


def mlp(*sizes: int, dropout: float = 0.0) -> nn.Sequential:
    layers: list[nn.Module] = []
    for first, second in pairwise(sizes):
        layers += [nn.Linear(first, second), nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*layers[: -2 if dropout else -1])


# -- (a) parts as attributes of a plain class -----------------------------------------------------------------------


class Autoencoder:
    """No module itself: its parts are called one after the other."""

    def __init__(self) -> None:
        self.encoder = mlp(12, 32, 6, dropout=0.1)
        self.decoder = mlp(6, 32, 12, dropout=0.1)

    def loss(self, x: Tensor, fault: str) -> Tensor:
        z = self.encoder(x)
        if fault == "unused":
            return F.mse_loss(F.pad(z, (0, 6)), x)
        made = self.decoder(z)
        return F.mse_loss(made.detach() + 0 * z.sum() + z.mean() if fault == "detached" else made, x)


def parts_of_a_class(fault: str) -> Loop:
    model = Autoencoder()
    held = [*model.encoder.parameters(), *(() if fault == "not held" else model.decoder.parameters())]
    optimizer = torch.optim.Adam(held, 3e-3)
    if fault == "eval":
        model.decoder.eval()

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = model.loss(batch[0], fault)
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"encoder": model.encoder, "decoder": model.decoder}, {"adam": optimizer}, step, pictures())


# -- (b) a GAN ------------------------------------------------------------------------------------------------------


def gan(fault: str) -> Loop:
    generator, critic = mlp(4, 32, 12), mlp(12, 32, 1)
    held = list(generator.parameters())
    by_generator = torch.optim.Adam(held[:2] if fault == "not held" else held, 2e-3, betas=(0.5, 0.9))
    by_critic = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.5, 0.9))

    def step(batch: Batch) -> Tensor:
        real = batch[0]
        fake = generator(torch.randn(len(real), 4))
        by_critic.zero_grad()
        shown = fake.detach()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(shown)).mean()
        loss.backward()
        by_critic.step()
        if fault != "not cleared":
            by_generator.zero_grad()
        deceived = critic(fake.detach() if fault == "detached" else fake)
        fooled = F.softplus(-deceived).mean()
        fooled.backward()
        by_generator.step()
        return fooled

    return Loop({"generator": generator, "critic": critic}, {"g": by_generator, "c": by_critic}, step, pictures())


# -- (c) an actor and its critic ------------------------------------------------------------------------------------


def actor_critic(fault: str) -> Loop:
    body, actor, critic = mlp(12, 32, 16), nn.Linear(16, 4), nn.Linear(16, 1)
    held = [*body.parameters(), *actor.parameters(), *(() if fault == "not held" else critic.parameters())]
    optimizer = torch.optim.Adam(held, 3e-3)

    def step(batch: Batch) -> Tensor:
        states, wanted = batch
        hidden = torch.relu(body(states))
        policy = torch.distributions.Categorical(logits=actor(hidden))
        value = critic(hidden).squeeze(1)
        action = policy.sample()
        reward = (action == wanted).float()
        advantage = reward - value.detach()
        expected = value.detach() if fault == "detached" else value
        loss = (
            -(policy.log_prob(action) * advantage).mean()
            + F.mse_loss(expected, reward)
            - 0.01 * policy.entropy().mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"body": body, "actor": actor, "critic": critic}, {"adam": optimizer}, step, pictures(), epochs=12)


# -- (d) a model that is never called -------------------------------------------------------------------------------


class Methods(nn.Module):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.encoder, self.head = mlp(12, 32), nn.Linear(32, 4)
        self.spare = nn.Linear(32, 32) if fault == "unused" else nn.Identity()

    def features(self, x: Tensor) -> Tensor:
        return torch.relu(self.encoder.forward(x))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(self.features(x), self.head.weight, self.head.bias), y)


def methods(fault: str) -> Loop:
    model = Methods(fault)
    optimizer = torch.optim.Adam((model.encoder if fault == "not held" else model).parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        if fault != "not cleared":
            optimizer.zero_grad()
        loss = model.loss(*batch)
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


# -- (e) modules in the loader --------------------------------------------------------------------------------------


class Normalize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(12))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / 2


def transforms(fault: str) -> Loop:
    normalize, body, head = Normalize(), mlp(12, 32), nn.Linear(32, 4)
    model = nn.Sequential(body, nn.ReLU(), head)
    optimizer = torch.optim.Adam((body if fault == "not held" else model).parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        x = torch.stack([normalize(each) for each in batch[0]])
        if fault != "not cleared":
            optimizer.zero_grad()
        hidden = model[1](model[0](x))
        loss = F.cross_entropy(model[2](hidden.detach() if fault == "detached" else hidden), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


# -- (f) parts that are frozen and thawed ---------------------------------------------------------------------------


def toggled(fault: str) -> Loop:
    generator, critic = mlp(4, 32, 12), mlp(12, 32, 1)
    by_generator = torch.optim.Adam(generator.parameters(), 2e-3)
    by_critic = torch.optim.Adam(critic.parameters(), 2e-3)

    def thaw(model: nn.Module, on: bool) -> None:
        for parameter in model.parameters():
            parameter.requires_grad_(on)

    def step(batch: Batch) -> Tensor:
        real = batch[0]
        thaw(generator, False)
        thaw(critic, True)
        by_critic.zero_grad()
        loss = F.softplus(-critic(real)).mean() + F.softplus(critic(generator(torch.randn(len(real), 4)))).mean()
        loss.backward()
        by_critic.step()
        thaw(generator, fault != "never thawed")
        thaw(critic, fault == "never thawed")
        by_generator.zero_grad()
        fooled = F.softplus(-critic(generator(torch.randn(len(real), 4)))).mean()
        fooled.backward()
        by_generator.step()
        return fooled

    thaw(generator, False)
    return Loop({"generator": generator, "critic": critic}, {"g": by_generator, "c": by_critic}, step, pictures())


# -- (g) what the loss is given -------------------------------------------------------------------------------------


def losses(fault: str) -> Loop:
    model = mlp(12, 32, 1 if fault == "broadcast" or fault == "fitting shapes" else 4)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        x, y = batch
        made = model(x)
        if fault in ("broadcast", "fitting shapes"):
            target = x[:, 0] - 2 * x[:, 1]
            loss = F.mse_loss(made if fault == "broadcast" else made.squeeze(1), target)
        elif fault == "double softmax":
            loss = F.cross_entropy(made.softmax(1), y)
        elif fault == "sign":
            loss = -F.cross_entropy(made, y)
        else:
            loss = F.cross_entropy(made, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures(), epochs=12)


# -- (h) steps with a closure ---------------------------------------------------------------------------------------


def closures(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    again = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: Batch) -> Tensor:
        def closure() -> Tensor:
            for _ in range(4 if fault == "summed" else 1):
                if fault != "not cleared" and fault != "summed":
                    optimizer.zero_grad()
                loss = F.cross_entropy(model(batch[0]), batch[1])
                loss.backward()
            if fault == "clipped":
                nn.utils.clip_grad_norm_(model.parameters(), 1e-4)
            return loss

        if fault == "summed":
            optimizer.zero_grad()
        loss = optimizer.step(closure)
        if fault == "twice":
            again.step()
        return loss

    optimizers = {"sgd": optimizer, **({"again": again} if fault == "twice" else {})}
    return Loop({"model": model}, optimizers, step, pictures())


# -- (i) without backward() -----------------------------------------------------------------------------------------


def derivatives(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    parameters = list(model.parameters())

    def step(batch: Batch) -> Tensor:
        loss = F.cross_entropy(model(batch[0]) * (1e30 if fault == "nan" else 1), batch[1]) * (
            1e30 if fault == "nan" else 1
        )
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= 0.1 * gradient
        return loss

    return Loop({"model": model}, {}, step, pictures())


def forward_only(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    return Loop({"model": model}, {}, lambda batch: F.cross_entropy(model(batch[0]), batch[1]), pictures())


# -- (j) optimizers of one's own ------------------------------------------------------------------------------------


class ByHand:
    """Steps, and clears what it has used, as fastai's does."""

    def __init__(self, parameters: list[Tensor], rate: float) -> None:
        self.parameters, self.rate = parameters, rate

    def step(self, clear: bool = True) -> None:
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.data -= self.rate * parameter.grad
                if clear:
                    parameter.grad = None


def own_optimizer(fault: str) -> Loop:
    model = mlp(12, 32, 4)
    held = list(model.parameters())
    optimizer = ByHand(held[:2] if fault == "not held" else held, 0.1)

    def step(batch: Batch) -> Tensor:
        made = model(batch[0])
        loss = F.cross_entropy(made.detach() + model[2].bias if fault == "detached" else made, batch[1])
        loss.backward()
        if fault != "no step":
            optimizer.step(clear=fault != "not cleared")
        return loss

    return Loop({"model": model}, {}, step, pictures())


# -- (k) two trainings in one test ----------------------------------------------------------------------------------


def two_in_turn(fault: str) -> None:
    """A model is trained, and then another one, in which the fault is."""
    losses("none").run()
    (parts_of_a_class if fault in ("not held", "unused", "eval") else losses)(fault).run()


LOOPS: dict[Callable[[str], Loop], tuple[str, ...]] = {
    parts_of_a_class: ("none", "not held", "unused", "detached", "eval"),
    gan: ("none", "not held", "not cleared", "detached"),
    actor_critic: ("none", "not held", "detached"),
    methods: ("none", "not held", "unused", "not cleared"),
    transforms: ("none", "not held", "not cleared", "detached"),
    toggled: ("none", "never thawed"),
    losses: ("none", "double softmax", "broadcast", "fitting shapes", "sign"),
    closures: ("none", "not cleared", "clipped", "summed", "twice"),
    derivatives: ("none", "nan"),
    forward_only: ("none",),
    own_optimizer: ("none", "not held", "no step", "not cleared", "detached"),
}
