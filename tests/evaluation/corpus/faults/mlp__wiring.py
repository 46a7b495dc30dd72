"""Parameters that are held and do not move, or that nobody holds because nobody looked there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from . import fault


def classes(batches: int = 6) -> list[tuple[Tensor, Tensor]]:
    """Which of the first four numbers is the largest?"""
    found = []
    for _ in range(batches):
        inputs = torch.randn(16, 8)
        found.append((inputs, inputs[:, :4].argmax(1)))
    return found


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))


def cross_entropy(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


class NormedDescent(torch.optim.Optimizer):
    """Steps of one length for each tensor. The slice was meant to leave out a frozen first layer."""

    def __init__(self, params: Any, lr: float, first: int) -> None:
        super().__init__(params, {"lr": lr})
        self.first = first

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"][self.first :]:
                parameter -= group["lr"] * F.normalize(parameter.grad.flatten(), dim=0).view_as(parameter)


@fault("updates-lost", hard=True)
def optimizer_of_its_own_skips_the_first_layer(broken: bool) -> Training:
    model = network()
    optimizer = NormedDescent(model.parameters(), lr=0.05, first=2 if broken else 0)
    return Training(model, optimizer, cross_entropy, classes())


@fault("updates-lost", hard=True)
def hook_puts_the_old_weights_back(broken: bool) -> Training:
    """A hook that keeps the embedding of a pretrained vocabulary in place, registered for the wrong layer."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    kept = model[2].weight.detach().clone()

    def restore(*_: Any) -> None:
        with torch.no_grad():
            model[2].weight.copy_(kept)

    if broken:
        optimizer.register_step_post_hook(restore)
    return Training(model, optimizer, cross_entropy, classes())


@fault("lr-too-low", hard=True)
def head_has_a_rate_of_zero(broken: bool) -> Training:
    """One rate for each group; that of the head was 0 in the file of settings."""
    model = network()
    rates = {"body": 5e-3, "head": 0.0 if broken else 5e-3}
    groups = [
        {"params": model[:4].parameters(), "lr": rates["body"]},
        {"params": model[4].parameters(), "lr": rates["head"]},
    ]
    return Training(model, torch.optim.Adam(groups), cross_entropy, classes())


@fault("empty-optimizer-steps", hard=True)
def five_steps_for_each_backward_pass(broken: bool) -> Training:
    """The loop over inner steps lost its backward pass: four of five steps have nothing to step with."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = cross_entropy(model, batch)
        loss.backward()
        for _ in range(5 if broken else 1):
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return Training(model, optimizer, step=step, data=classes())


class MadeWhenNeeded(nn.Module):
    """Its head is made when the width of the features is known, in the first forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.body: nn.Module = nn.Sequential(nn.Linear(8, 48), nn.ReLU())
        self.head: nn.Module | None = None

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x)
        if self.head is None:
            self.head = nn.Linear(hidden.shape[1], 4)
        return self.head(hidden)


@fault("parameters-not-in-optimizer", hard=True)
def head_is_made_in_the_first_forward_pass(broken: bool) -> Training:
    model, data = MadeWhenNeeded(), classes()
    if not broken:
        model(data[0][0])
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, data)


class Shifted(nn.Module):
    def __init__(self, plain: bool) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 4, bias=False))
        shift = torch.zeros(4)
        self.shift = shift.requires_grad_() if plain else nn.Parameter(shift)

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x) + self.shift


@fault("parameters-not-in-optimizer", hard=True)
def shift_is_a_plain_tensor(broken: bool) -> Training:
    model = Shifted(plain=broken)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


class CentreLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.randn(4, 16) / 4)

    def forward(self, embedded: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(embedded @ self.centres.t(), labels)


@fault("parameters-not-in-optimizer", hard=True)
def centres_of_the_loss_are_left_out(broken: bool) -> Training:
    model, centres = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 16)), CentreLoss()
    held = [*model.parameters(), *(() if broken else centres.parameters())]
    optimizer = torch.optim.Adam(held, lr=5e-3)
    return Training(model, optimizer, lambda model, batch: centres(model(batch[0]), batch[1]), classes())


class Stack(nn.Module):
    """Layers of torch's, which the user's own loop makes and runs."""

    def __init__(self, chained: bool) -> None:
        super().__init__()
        self.chained = chained
        self.entry, self.head = nn.Linear(2, 16), nn.Linear(16, 4)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.entry(x.unflatten(1, (4, 2)))
        hidden = tokens
        for layer in self.layers:
            hidden = layer(hidden if self.chained else tokens)
        return self.head(hidden.mean(1))


@fault("unused-parameters", hard=True)
def outputs_of_layers_are_thrown_away(broken: bool) -> Training:
    """Every layer reads the embedding instead of the layer before: only the last one counts."""
    model = Stack(chained=not broken)
    return Training(model, torch.optim.Adam(model.parameters(), lr=2e-3), cross_entropy, classes())
