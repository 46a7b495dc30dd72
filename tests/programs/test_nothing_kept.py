"""When a check is over, nothing that it has trained is left for the garbage collector: the next one builds anew."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.watched_program import WatchedProgram
from pytest_trainhealth.settings import BATTERY


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


Batches = list[tuple[torch.Tensor, torch.Tensor]]


def _trained(made: list[weakref.ref[nn.Module]]) -> tuple[nn.Module, torch.optim.Optimizer, Batches]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
    made.append(weakref.ref(model))
    inputs = torch.randn(4, 16, 4)
    data = [(batch, batch[:, :3].argmax(1)) for batch in inputs]
    return model, torch.optim.Adam(model.parameters(), 1e-2), data


@pytest.mark.parametrize("check", BATTERY)
def test_of_a_training(check: str, uncollected: None) -> None:
    made: list[weakref.ref[nn.Module]] = []

    def factory() -> Training:
        model, optimizer, data = _trained(made)
        return Training(model, optimizer, criterion=F.cross_entropy, data=data)

    assert diagnose(factory, [check]).healthy
    assert made
    assert not [each for each in made if each() is not None]


def test_of_a_watched_loop(uncollected: None) -> None:
    made: list[weakref.ref[nn.Module]] = []

    def body() -> None:
        model, optimizer, data = _trained(made)
        for inputs, target in data:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), target).backward()
            optimizer.step()

    trace = WatchedProgram(body, 0).record(RunPlan(max_steps=0, look=Look(("gradients", "modules"))))
    assert trace.steps == 4
    assert [each() for each in made] == [None]
