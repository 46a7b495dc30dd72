"""How many samples a step of a watched test learns from, according to the loaders used for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth.analysis.timing import makes_its_own_batches, samples_a_step
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.watched_program import WatchedProgram
from pytest_trainhealth.records.trace import Trace


def watched(body: Callable[[], object]) -> Trace:
    return WatchedProgram(body, 0).record(RunPlan(max_steps=0, look=Look(signals=("tokens", "threads"))))


def loader(size: int, batches: int = 20, **options: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.randn(size * batches, 4)), batch_size=size, **options)


@pytest.mark.parametrize("gradients", [True, False], ids=["with gradients", "without"])
@pytest.mark.parametrize("read", ["by a loader", "as they are"])
def test_a_validation_is_not_learned_from(gradients: bool, read: str) -> None:
    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        for (inputs,) in loader(8):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
            with torch.set_grad_enabled(gradients):
                for (held_out,) in loader(512, 2) if read == "by a loader" else [(torch.randn(512, 4),)]:
                    model(held_out).square().mean().item()

    trace = watched(body)
    assert samples_a_step(trace) == pytest.approx(8, rel=0.1)


def test_labelled_and_unlabelled_samples_are_both_learned_from() -> None:
    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        unlabelled = iter(loader(24))
        for (inputs,) in loader(8):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            model(next(unlabelled)[0]).square().mean().backward()
            optimizer.step()

    trace = watched(body)
    assert set(trace.speed.samples[4:]) == {32}
    assert set(trace.speed.loader_batches[4:]) == {2}


def test_a_state_that_is_handed_on_has_its_samples_elsewhere() -> None:
    def body() -> None:
        model = nn.LSTM(4, 4, batch_first=True)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        state = (torch.zeros(1, 8, 4), torch.zeros(1, 8, 4))
        for _ in range(12):
            out, state = model(torch.randn(8, 5, 4), state)
            state = (state[0].detach(), state[1].detach())
            optimizer.zero_grad()
            out.square().mean().backward()
            optimizer.step()

    trace = watched(body)
    assert samples_a_step(trace) == 8
    assert makes_its_own_batches(trace)


def test_workers_are_met_when_they_are_read_from() -> None:
    def body() -> None:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)
        for (inputs,) in loader(8, 6, num_workers=1):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()

    assert watched(body).speed.workers == 1
