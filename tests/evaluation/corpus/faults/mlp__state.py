"""State: runs that cannot be repeated, or resumed, or that differ with how a batch is cut. The loss falls in all."""

from __future__ import annotations

import time
import zlib

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training

from . import fault

REPRODUCIBLE = ("is_reproducible",)


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
