"""Small trainings for the tests of the probes, and what the probes record of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram
from pytest_trainhealth.records.probes import ProbeRecord


class Rows(nn.Module):
    """A model of tables whose forward pass is given."""

    def __init__(self, forward: Any, inputs: int = 10) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(inputs, 12), nn.Linear(12, 3)
        self._forward_pass = forward

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_pass(self, x)


def train(model: nn.Module, *inputs: Tensor, target: Tensor | None = None, **kwargs: Any) -> Training:
    target = torch.randint(0, 3, inputs[0].shape[:1]) if target is None else target

    def loss(model: nn.Module, batch: Any) -> Tensor:
        return F.cross_entropy(model(*batch[:-1]), batch[-1])

    return Training(model, torch.optim.SGD(model.parameters(), 0.01), loss=loss, data=(*inputs, target), **kwargs)


def probe(training: Training, steps: int = 9) -> ProbeRecord:
    found = (
        TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=steps, look=Look(signals=("probes",)))).probe
    )
    assert found is not None
    return found


def table() -> Tensor:
    return torch.randn(16, 10)


def series() -> Tensor:
    """Random walks, (samples, time, features)."""
    return torch.randn(16, 10, 6).cumsum(1)


class Sequences(nn.Module):
    """A model of sequences whose forward pass is given."""

    def __init__(self, forward: Any, features: int = 6, hidden: int = 16, **settings: Any) -> None:
        super().__init__()
        self.rnn = nn.GRU(features, hidden, **settings)
        self.enter, self.leave = nn.Linear(features, hidden), nn.Linear(hidden, 3)
        self._forward_pass = forward

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_pass(self, x)


def batches(*data: Tensor, size: int = 16) -> list[tuple[Tensor, ...]]:
    """Slices of larger tensors, as people cut them."""
    return [tuple(t[i : i + size] for t in data) for i in range(0, len(data[0]), size)]
