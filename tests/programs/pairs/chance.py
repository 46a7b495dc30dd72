"""Dropout that is on or off at the wrong time, and draws that cut the graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal
from torch.nn import functional as F

from ..loops import Batch, Loop, mlp, pictures


class Dropping(nn.Module):
    """A small convolutional net that calls dropout as a function."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.conv, self.hidden, self.head = nn.Conv1d(1, 8, 3), nn.Linear(80, 32), nn.Linear(32, 4)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv(x.unsqueeze(1))).flatten(1)
        x = F.relu(self.hidden(x))
        if self.how == "always on":
            x = F.dropout(x, 0.5)
        elif self.how == "on, it says":  # as for Monte Carlo dropout
            x = F.dropout(x, 0.5, training=True)
        elif self.how == "always off":
            x = F.dropout(x, 0.5, training=False)
        elif self.how == "upside down":
            x = F.dropout(x, 0.5, training=not self.training)
        else:
            x = F.dropout(x, 0.5, training=self.training)
        return self.head(x)


def functional_dropout(fault: str) -> Loop:
    model = Dropping(fault)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)

    def step(batch: Batch) -> Tensor:
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


def evaluation(fault: str) -> Loop:
    """Every fourth step is followed by a validation."""
    model = mlp(12, 48, 48, 4, dropout=0.4)
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    held_out, seen = pictures(1, 64)[0], 0

    def validate() -> float:
        if fault == "none":
            model.eval()
        with torch.no_grad():
            made = [model(held_out[0]) for _ in range(4 if fault == "several draws" else 1)]
            loss = F.cross_entropy(torch.stack(made).mean(0), held_out[1])
        model.train()
        return float(loss)

    def step(batch: Batch) -> Tensor:
        nonlocal seen
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        seen += 1
        if seen % 2 == 0:
            validate()
        return loss

    return Loop({"model": model}, {"adamw": optimizer}, step, pictures())


class Vae(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.encoder, self.decoder = mlp(12, 32, 8), mlp(4, 32, 12)
        self.how = how

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encoder(x).chunk(2, 1)
        if self.how == "torch.normal":
            z = torch.normal(mu, torch.exp(0.5 * logvar))
        elif self.how == "sample":
            z = Normal(mu, torch.exp(0.5 * logvar)).sample()
        else:
            z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


def vae(fault: str) -> Loop:
    model = Vae(fault)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        made, mu, logvar = model(batch[0])
        kl = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1).mean()
        loss = F.mse_loss(made, batch[0]) + 0.02 * kl
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


class NoisyLatent(nn.Module):
    """A regressor that draws its hidden state, without any penalty on it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.mean, self.spread = nn.Linear(12, 16), nn.Linear(12, 16)
        self.head = nn.Linear(16, 4)
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        mean, spread = self.mean(x), F.softplus(self.spread(x)) + 0.01
        drawn = Normal(mean, spread)
        z = torch.normal(mean, spread) if self.how == "torch.normal" else drawn.rsample()
        if self.how == "sample":
            z = drawn.sample()
        return self.head(torch.tanh(z))


def noisy_latent(fault: str) -> Loop:
    model = NoisyLatent(fault)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures())


def policy_gradient(fault: str) -> Loop:
    """Draws without a graph, as is right: the gradient comes by `log_prob`."""
    model = mlp(12, 32, 4)
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)

    def step(batch: Batch) -> Tensor:
        policy = Categorical(logits=model(batch[0]))
        action = policy.sample()
        reward = (action == batch[1]).float()
        loss = -(policy.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Loop({"model": model}, {"adam": optimizer}, step, pictures(), epochs=12)


PAIRS = {
    functional_dropout: ("none", "on, it says", "always on", "always off", "upside down"),
    evaluation: ("none", "several draws", "on in validation"),
    vae: ("none", "torch.normal", "sample"),
    noisy_latent: ("none", "torch.normal", "sample"),
    policy_gradient: ("none",),
}
