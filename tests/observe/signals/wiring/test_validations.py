"""Evaluations in training mode, and forward passes without gradients that are meant to be in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from pytest_trainhealth import Training, diagnose

Way = Callable[[nn.Module, Any, Any], None]


def training(way: Way, every: int = 1) -> Training:
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    data = [(torch.randn(16, 6), torch.randint(3, (16,))) for _ in range(8)]
    others = (torch.randn(16, 6), torch.randint(3, (16,)))
    count = [0]

    def step(batch):
        model.train()
        loss = F.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count[0] += 1
        if count[0] % every == 0:
            with torch.no_grad():
                way(model, batch, others)
        return loss

    return Training(model, optimizer, step=step, data=data)


def in_training_mode(model, batch, others):
    F.cross_entropy(model(others[0]), others[1]).item()


def in_eval_mode(model, batch, others):
    model.eval()
    F.cross_entropy(model(others[0]), others[1]).item()


def of_the_batch_itself(model, batch, others):
    F.cross_entropy(model(batch[0] * 1.0), batch[1]).item()


def of_a_part_of_the_batch(model, batch, others):
    F.cross_entropy(model(batch[0][:4]), batch[1][:4]).item()


def pseudo_labels(model, batch, others):
    model(others[0]).argmax(1)


def choice_of_samples(model, batch, others):
    F.cross_entropy(model(others[0]), others[1], reduction="none").topk(4)


@pytest.mark.parametrize(("every", "check"), [(1, "gradients_flow"), (5, "learns_from_data")])
def test_an_evaluation_in_training_mode(every: int, check: str) -> None:
    finding = diagnose(lambda: training(in_training_mode, every), check).findings[0]
    assert (finding.cause, finding.certainty) == ("wrong-mode", "confirmed")
    assert "evaluated in training mode" in finding.statement
    assert "model(others[0])" in finding.location.code


@pytest.mark.parametrize(
    "way",
    [in_eval_mode, of_the_batch_itself, of_a_part_of_the_batch, pseudo_labels, choice_of_samples],
    ids=lambda way: way.__name__,
)
def test_passes_without_gradients_that_are_meant(way: Way) -> None:
    report = diagnose(lambda: training(way), ["gradients_flow"])
    assert report.healthy, str(report)
