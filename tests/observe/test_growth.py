"""Four times as many tensors, modules or optimizers cost four times as much, not sixteen times: calls are counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.observe.signals.probes.probes import Probes
from pytest_trainhealth.observe.signals.wiring.clipping import Clipping
from pytest_trainhealth.observe.signals.wiring.weight_ties import WeightTies
from pytest_trainhealth.observe.source.creation_sites import CreationSites
from pytest_trainhealth.programs.training_program import add_places
from pytest_trainhealth.state.snapshot import Snapshot

SIZES = (100, 400)
#: Linear is 4, quadratic 16; what is done only once makes it less.
MOST = 6


class Layers(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        for index in range(number):
            setattr(self, f"layer{index}", nn.Linear(2, 3, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return sum((layer(x) for layer in self.children()), torch.zeros(()))


def add_models(number: int) -> Callable[[], object]:
    run, models = Run(), {str(index): nn.Linear(2, 2) for index in range(number)}
    return lambda: run.add_models(models)


def add_one_model(number: int) -> Callable[[], object]:
    run, model = Run(), Layers(number)
    return lambda: run.add_models({"": model})


def add_optimizers(number: int) -> Callable[[], object]:
    """One for each parameter, which steps in the backward pass."""
    run, model = Run(), Layers(number)
    run.add_models({"": model})
    optimizers = [torch.optim.SGD([parameter], 0.1) for parameter in model.parameters()]
    return lambda: [run.add_optimizer(optimizer) for optimizer in optimizers]


def places(number: int) -> Callable[[], object]:
    run, model, sites = Run(), Layers(number), CreationSites()
    run.add_models({"": model})
    for parameter in model.parameters():
        run.add_optimizer(torch.optim.SGD([parameter], 0.1))
    for path, _ in model.named_modules():
        run.trace.wiring.modules[path] = type("Record", (), {})()
    return lambda: add_places(run, sites)


def weight_ties(number: int) -> Callable[[], object]:
    run = Run()
    run.add_models({"": Layers(number)})
    return WeightTies(run).run_begins


def probes(number: int) -> Callable[[], object]:
    run, model = Run(), Layers(number)
    run.add_models({"": model})
    signal = Probes(run)
    signal._inner = {id(part): set() for part in model.children()}
    signal._forward = True
    return lambda: [signal._ran(part, (), {}, torch.ones(())) for part in model.children()]


def clipping_by_hand(number: int) -> Callable[[], object]:
    """Each gradient is written into, and each write is looked at."""
    run, model = Run(), Layers(number)
    run.add_models({"": model})
    run.add_optimizer(torch.optim.SGD(model.parameters(), 0.1))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    signal = Clipping(run)

    def step() -> None:
        signal.step_begins(None)
        signal.backward_ends()
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.grad.clamp_(-1, 1)
        signal.step_ends()

    return step


def snapshot(number: int) -> Callable[[], object]:
    model = Layers(number)
    return lambda: Snapshot([model]).restore()


def calls_of(work: Callable[[], object]) -> int:
    count = 0

    def counts(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counts)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "make",
    [add_models, add_one_model, add_optimizers, places, weight_ties, probes, clipping_by_hand, snapshot],
    ids=lambda m: m.__name__,
)
def test_grows_like_the_model(make: Callable[[int], Callable[[], object]]) -> None:
    calls_of(make(SIZES[0]))  # what is cached by then
    few, many = (calls_of(make(size)) for size in SIZES)
    assert many / few <= MOST
