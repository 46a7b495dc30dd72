"""Every listener is notified of the end, and nothing waits for data while a run is being ended."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytest_trainhealth import Training
from pytest_trainhealth.observe.run.events import Listener
from pytest_trainhealth.observe.run.run import Run
from pytest_trainhealth.programs.plan import Look, RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram


def test_every_listener_hears_it_in_turn() -> None:
    heard: list[str] = []

    class Named(Listener):
        def __init__(self, name: str) -> None:
            self._name = name

        def run_ends(self) -> None:
            heard.append(self._name)
            if self._name == "b":
                raise RuntimeError("b")

    run = Run()
    for name in "abc":
        run.subscribe(Named(name))
    with pytest.raises(RuntimeError, match="b"):
        run.end()
    assert heard == ["a", "b", "c"]


class Interrupted(Dataset[torch.Tensor]):
    """Somebody presses Ctrl-C, and again at whatever is read after that."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        self.read.append(index)
        if len(self.read) > 16:
            raise KeyboardInterrupt
        return torch.ones(4)


def test_an_interrupted_run_reads_no_more_and_leaves_nothing() -> None:
    model, data = nn.Linear(4, 1), Interrupted()
    kept: list[torch.Tensor] = []

    def step(batch: torch.Tensor) -> torch.Tensor:
        loss = model(batch).mean()
        kept.append(loss)
        return loss

    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    start = Start(Training(model, optimizer, step=step, data=DataLoader(data, batch_size=4)), seed=0)
    before = sys.gettrace()
    plan = RunPlan(max_steps=17, look=Look(signals=("loading", "kept_graphs", "slow_calls")), one_batch=False)
    with pytest.raises(KeyboardInterrupt):
        TrainingProgram(start).record(plan)
    assert len(data.read) == 17
    start.close()
    assert data.read == []
    assert sys.gettrace() is before
