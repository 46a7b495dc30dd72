"""One thing that cannot be put back keeps nothing else from it, and is told by name."""

from __future__ import annotations

from queue import SimpleQueue as Queue
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.state.snapshot import Snapshot


def test_every_undo_is_tried() -> None:
    log, array, seen = bytearray(b"start"), np.zeros(3), [1]
    views: list[Any] = []

    def step() -> None:
        log.extend(b" and on")
        views.append(memoryview(log))  # its size is fixed from now on
        array[:] = 1
        array.flags.writeable = False
        seen.append(2)

    snapshot = Snapshot([step])
    step()
    failed = snapshot.restore()
    assert failed == ["`step.log` (BufferError: Existing exports of data: object cannot be re-sized)"]
    assert seen == [1]
    assert views == []
    assert np.array_equal(array, np.zeros(3))
    assert array.flags.writeable
    assert snapshot.restore() == []  # the view is gone by now
    assert log == b"start"


def trained(check: str, stop: bool = False) -> Verdict:
    """A step that fixes the size of a buffer for good. Whatever happens, weights and counts are put back."""
    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    views: Queue[memoryview] = Queue()  # a snapshot does not look into it, and leaves the view there
    model, log, seen = nn.Linear(4, 3), bytearray(), [0]
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)

    def step(batch: Any) -> torch.Tensor:
        if not log:
            log.extend(b"begun")
            views.put(memoryview(log))
        seen.append(1)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        if stop:
            raise RuntimeError("out of cheese")
        return loss

    before = model.weight.detach().clone()
    training = Training(model, optimizer, data=(x, y), step=step)
    try:
        return examine(training, Request(check, "log", 3, {"steps": 60}))
    finally:
        assert torch.equal(model.weight, before)
        assert seen == [0]


def test_what_was_left_is_told_by_a_check_that_passed() -> None:
    verdict = trained("trains_without_nan")
    assert verdict.outcome == "passed"
    assert any("left changed: `step.log` (BufferError" in n for n in verdict.notes)


def test_what_would_begin_elsewhere_is_not_run_again() -> None:
    verdict = trained("overfits_one_batch")
    assert verdict.outcome == "could not judge"
    assert "cannot start again: `step.log` (BufferError" in verdict.reason


def test_what_was_left_is_told_with_an_error() -> None:
    with pytest.raises(RuntimeError, match="out of cheese") as caught:
        trained("trains_without_nan", stop=True)
    assert any("`step.log`" in note for note in caught.value.__notes__)
