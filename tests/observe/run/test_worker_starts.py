"""The first batch of each epoch waits for worker processes that have to start; the others do not."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytest_trainhealth import Training
from pytest_trainhealth.programs.plan import RunPlan
from pytest_trainhealth.programs.start import Start
from pytest_trainhealth.programs.training_program import TrainingProgram


def starts(workers: int) -> list[int]:
    data = TensorDataset(torch.randn(12, 3), torch.randint(2, (12,)))
    model = nn.Linear(3, 2)
    loader = DataLoader(data, batch_size=4, num_workers=workers)
    training = Training(model, torch.optim.SGD(model.parameters(), 0.1), criterion=nn.CrossEntropyLoss(), data=loader)
    trace = TrainingProgram(Start(training, seed=0)).record(RunPlan(max_steps=7, one_batch=False))
    assert trace.steps == 7
    return trace.speed.worker_starts


def test_every_epoch_of_three_batches() -> None:
    assert starts(workers=1) == [0, 3, 6]


def test_nothing_starts_without_workers() -> None:
    assert starts(workers=0) == []
