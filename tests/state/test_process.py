"""What a step switches on in the process, and leaves on, is off again for the next test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.state.process import undisturbed


def state() -> dict[str, Any]:
    return {
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "cache": torch.is_autocast_cache_enabled(),
        "device": torch.get_default_device(),
        "precision": torch.get_float32_matmul_precision(),
    }


def switch_on() -> None:
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    torch.set_autocast_cache_enabled(False)
    torch.set_default_device("meta")
    torch.set_float32_matmul_precision("medium")


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """For the other tests, if one of these fails."""
    yield
    torch.set_default_device(None)
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(True)
    torch.set_float32_matmul_precision("highest")


def test_a_step_that_leaves_things_on() -> None:
    model, before = nn.Linear(4, 2), state()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        switch_on()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]).float(), batch[1])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    data = (torch.randn(8, 4), torch.zeros(8).long())
    diagnose(Training(model, optimizer, step=step, data=data), checks=["trains_without_nan"], steps=2)
    assert state() == before


def test_also_after_an_interrupt() -> None:
    before = state()

    def interrupted() -> None:
        with undisturbed():
            switch_on()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert state() == before


def test_what_was_on_before_stays_on() -> None:
    switch_on()
    before = state()
    with undisturbed():
        torch.set_default_device(None)
        torch.set_autocast_enabled("cpu", False)
    assert state() == before
