"""What a training carries from step to step is found part by part, read as a copy, and written again."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.state.loop_state import parts_of


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.calls, self.noise = 0, torch.Generator().manual_seed(1)
        self.views = [self.layer.weight]

    def forward(self, x):
        return self.layer(x)


class Trainer:
    def __init__(self, model: nn.Module) -> None:
        self.model, self.steps = model, 0
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cpu")

    def step(self, batch):
        self.steps += 1
        return F.cross_entropy(self.model(batch[0]), batch[1])


def training() -> Training:
    trainer = Trainer(Model())
    batch = (torch.zeros(2, 2), torch.zeros(2, dtype=torch.long))
    return Training(trainer.model, trainer.optimizer, step=trainer.step, data=[batch])


def test_every_part_is_found_once():
    found = {(part.kind, part.name) for part in parts_of(training()).values()}
    assert found == {
        ("weights", "layer.weight"),
        ("weights", "layer.bias"),
        ("buffers", "mean"),
        ("buffers", "cache"),
        ("attributes", "calls"),
        ("attributes", "noise"),
        ("attributes", "layer.in_features"),
        ("attributes", "layer.out_features"),
        ("optimizer", "Adam"),
        ("scaler", "scaler"),
        ("loop", "steps"),
        ("random numbers", "torch, numpy and Python"),
    }


def test_parts_are_read_as_copies_and_written_into_another_build():
    one, other = training(), training()
    one.model.calls, one.step.__self__.steps = 5, 7
    with torch.no_grad():
        one.model.layer.weight.fill_(3.0)
    one.model.mean = torch.ones(2)  # bound anew, as a buffer may be
    torch.rand(3, generator=one.model.noise)
    kept = {name: part.read() for name, part in parts_of(one).items()}
    before = {name: part.print() for name, part in parts_of(one).items()}
    one.model.calls = 6
    for name, part in parts_of(other).items():
        part.write(kept[name])
    assert {name: part.print() for name, part in parts_of(other).items()} == before
    assert (other.model.calls, other.step.__self__.steps) == (5, 7)
    assert bool((other.model.mean == 1).all())
