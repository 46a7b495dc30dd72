"""Schedulers of a `Training` are stepped per epoch or per batch: as asked, or as usual for their kind."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from pytest_trainhealth import Training, diagnose
from pytest_trainhealth.observe.run.scheduler_steps import SchedulerSteps, usual_pace

BATCHES = [torch.randn(4, 3) for _ in range(12)]


def sgd() -> torch.optim.Optimizer:
    return torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)


def training(scheduler: Any, data: Any = None, every: Any = None) -> Training:
    return Training(
        nn.Linear(3, 1),
        sgd(),
        lambda model, batch: model(batch).square().mean(),
        BATCHES if data is None else data,
        scheduler=scheduler,
        scheduler_every=every,
    )


class Noam(LRScheduler):
    """Somebody's own."""

    def get_lr(self) -> list[float]:
        return [0.1 for _ in self.optimizer.param_groups]


@pytest.mark.parametrize(
    ("make", "pace"),
    [
        (lambda o: lr_scheduler.StepLR(o, 5), "epoch"),
        (lambda o: lr_scheduler.MultiStepLR(o, [3]), "epoch"),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.9), "epoch"),
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 20), "epoch"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o), "epoch"),
        (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.95**epoch), "epoch"),
        (lambda o: lr_scheduler.LambdaLR(o, lambda step: min(1.0, step / 100)), "batch"),
        (lambda o: lr_scheduler.LinearLR(o, 0.1, total_iters=50), "batch"),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=100), "batch"),
        (lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1), "batch"),
        (Noam, "batch"),
        (
            lambda o: lr_scheduler.SequentialLR(
                o, [lr_scheduler.LinearLR(o, 0.1, total_iters=9), lr_scheduler.CosineAnnealingLR(o, 90)], [9]
            ),
            "batch",
        ),
    ],
)
def test_the_usual_pace_of_each_kind(make: Any, pace: str) -> None:
    assert usual_pace(make(sgd())) == pace


@pytest.mark.parametrize(("every", "calls"), [(None, 2), ("epoch", 2), ("batch", 30)])
def test_an_epoch_is_one_pass_over_the_data(every: Any, calls: int) -> None:
    scheduler = lr_scheduler.StepLR(sgd(), 5)
    schedule = SchedulerSteps(training(scheduler, every=every))
    for _ in range(30):
        schedule.step_taken(1.0)
    assert scheduler.last_epoch == calls


@pytest.mark.parametrize(("data", "calls"), [(BATCHES[:3], 3), (BATCHES[0], 0), (BATCHES[:1], 0)])
def test_a_few_batches_are_a_sample_of_an_epoch(data: Any, calls: int) -> None:
    scheduler = lr_scheduler.StepLR(sgd(), 5)
    schedule = SchedulerSteps(training(scheduler, data))
    for _ in range(30):
        schedule.step_taken(1.0)
    assert scheduler.last_epoch == calls


def test_a_plateau_is_told_the_mean_loss_of_the_epoch() -> None:
    scheduler = lr_scheduler.ReduceLROnPlateau(sgd())
    schedule = SchedulerSteps(training(scheduler))
    for step in range(12):
        schedule.step_taken(float(step))
    assert scheduler.best == pytest.approx(5.5)


def test_a_plateau_that_waits_for_a_rise_gets_one_while_the_loss_falls() -> None:
    scheduler = lr_scheduler.ReduceLROnPlateau(sgd(), mode="max", patience=0, threshold=0.0)
    schedule = SchedulerSteps(training(scheduler, every="batch"))
    for step in range(12):
        schedule.step_taken(12.0 - step)
    assert scheduler.get_last_lr() == [0.1]


def test_a_schedule_in_epochs_does_not_run_out_in_a_test_of_200_steps() -> None:
    """It drops at epochs 12, 16 and 18 of 20: far from the start, where 20 batches would be over at once."""

    def made() -> Training:
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
        labels = torch.randint(3, (256,))
        samples = torch.randn(3, 8)[labels] + 0.3 * torch.randn(256, 8)
        optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
        scheduler = lr_scheduler.MultiStepLR(optimizer, [12, 16, 18], gamma=0.1)
        data = list(zip(samples.split(16), labels.split(16), strict=True))
        return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data, scheduler=scheduler)

    report = diagnose(made, ["overfits_one_batch", "learns_from_data"])
    assert report.healthy, str(report)
