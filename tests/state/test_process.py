"""What a step switches on in the process, and leaves on, is off again for the next test."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.state.process import remember_random_numbers, undisturbed


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


def refuses(*_: Any) -> None:
    raise ValueError("no such state")


def test_every_undo_is_tried_and_what_failed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    before, numbers = state(), (random.getstate(), torch.get_rng_state().tolist())
    monkeypatch.setattr(np.random, "set_state", refuses)
    monkeypatch.setattr(torch, "set_default_dtype", refuses)
    with undisturbed() as left:
        switch_on()
        random.random()
        torch.rand(1)
    assert state() == before
    assert (random.getstate(), torch.get_rng_state().tolist()) == numbers
    assert left == [
        "`torch.set_default_dtype` (ValueError: no such state)",
        "`random numbers of numpy` (ValueError: no such state)",
    ]


def test_what_failed_is_told_with_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.random, "set_state", refuses)
    with pytest.raises(RuntimeError, match="out of cheese") as caught, undisturbed():
        raise RuntimeError("out of cheese")
    assert caught.value.__notes__ == ["left changed: `random numbers of numpy` (ValueError: no such state)"]


def test_the_verdict_has_a_note_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(4, 2)
    monkeypatch.setattr(torch, "set_default_dtype", refuses)

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return model(batch).square().mean()  # type: ignore[no-any-return]

    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), loss=loss, data=torch.ones(8, 4))
    verdict = examine(training, Request("trains_without_nan", "it", 0, {"steps": 2, "sweep": False}))
    assert "left changed: `torch.set_default_dtype` (ValueError: no such state)" in verdict.notes


def test_random_numbers_of_one_kind_do_not_wait_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "setstate", refuses)
    put_back, before = remember_random_numbers(), torch.get_rng_state()
    torch.rand(1)
    with pytest.raises(RuntimeError, match="not put back: `random numbers of Python`"):
        put_back()
    assert torch.equal(torch.get_rng_state(), before)
