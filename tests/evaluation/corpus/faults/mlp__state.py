"""State: runs that cannot be repeated, or resumed, or that differ with how a batch is cut. The loss falls in all."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from . import fault

REPRODUCIBLE = ("is_reproducible",)
RESUMES = ("resumes_exactly",)


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


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def noise_is_seeded_with_the_clock(broken: bool) -> Training:
    model = network()
    noise = torch.Generator().manual_seed(int(time.time()) if broken else 7)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, labels = batch
        return F.cross_entropy(model(inputs + 0.1 * torch.randn(inputs.shape, generator=noise)), labels)

    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, classes())


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def samples_are_ordered_by_the_hash_of_their_names(broken: bool) -> Training:
    """As when files are dealt out to shards by their names."""
    model, inputs = network(), torch.randn(96, 8)
    names = [f"sample-{number:03}.png" for number in range(96)]
    order = sorted(range(96), key=lambda n: hash(names[n]) if broken else zlib.crc32(names[n].encode()))
    data = torch.utils.data.TensorDataset(inputs[order], inputs[order][:, :4].argmax(1))
    loader = torch.utils.data.DataLoader(data, batch_size=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return Training(model, optimizer, criterion=F.cross_entropy, data=loader)


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def weights_come_from_a_generator_without_a_seed(broken: bool) -> Training:
    model = network()
    random = np.random.default_rng(None if broken else 3)
    with torch.no_grad():
        for layer in (model[0], model[2], model[4]):
            drawn = random.normal(0, layer.weight.shape[1] ** -0.5, tuple(layer.weight.shape))
            layer.weight.copy_(torch.from_numpy(drawn))
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


@fault("nondeterministic", hard=True, checks=REPRODUCIBLE)
def dropped_values_are_chosen_by_the_system(broken: bool) -> Training:
    """A mask drawn in numpy, by a generator that is made anew at each call."""
    model = network()
    calls = []

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        inputs, labels = batch
        calls.append(len(calls))
        random = np.random.default_rng() if broken else np.random.default_rng(len(calls))
        kept = torch.from_numpy(random.random(tuple(inputs.shape)) > 0.05)
        return F.cross_entropy(model(inputs * kept), labels)

    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), loss, classes())


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def moments_are_not_saved(broken: bool) -> Training:
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def save(path: Path) -> None:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        if not broken:
            optimizer.load_state_dict(saved["optimizer"])

    return Training(model, optimizer, cross_entropy, classes(), save=save, load=load)


class Annealed(nn.Module):
    """Noise that becomes less from step to step, by a counter that is an attribute, or a buffer."""

    def __init__(self, broken: bool) -> None:
        super().__init__()
        self.layers = network()
        if broken:
            self.calls: Any = 0
        else:
            self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            x = x + torch.randn_like(x) * 0.95 ** float(self.calls) * 0.3
            self.calls = self.calls + 1
        return self.layers(x)


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def counter_of_an_annealing_is_an_attribute(broken: bool) -> Training:
    model = Annealed(broken)
    return Training(model, torch.optim.Adam(model.parameters(), lr=5e-3), cross_entropy, classes())


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def schedule_begins_anew(broken: bool) -> Training:
    """The step warms up and decays; of all that it keeps, only the scheduler is left out."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 0.2 + 0.1 * step))

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = cross_entropy(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    def save(path: Path) -> None:
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        torch.save({name: part.state_dict() for name, part in parts.items()}, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if not broken:
            scheduler.load_state_dict(saved["scheduler"])

    return Training(model, optimizer, step=step, data=classes(), save=save, load=load)


@fault("checkpoint-incomplete", hard=True, checks=RESUMES)
def random_numbers_begin_anew(broken: bool) -> Training:
    """With dropout, a resumed run draws the masks of the first steps once more."""
    model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def save(path: Path) -> None:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
        torch.save(states, path)

    def load(path: Path) -> None:
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        if not broken:
            torch.set_rng_state(saved["random"])

    return Training(model, optimizer, cross_entropy, classes(), save=save, load=load)
