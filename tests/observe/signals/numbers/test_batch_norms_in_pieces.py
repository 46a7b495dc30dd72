"""A step that gives its batch to the model in pieces: how much of it each BatchNorm gets at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def micro_batches(size: int) -> Training:
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def step(batch: tuple[Tensor, Tensor]) -> float:
        optimizer.zero_grad()
        losses = [F.mse_loss(model(x), y) for x, y in zip(*(part.split(size) for part in batch), strict=True)]
        loss = torch.stack(losses).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    x = torch.randn(64, 8)
    return Training(model, optimizer, step=step, data=list(zip(x.split(16), x[:, :1].split(16), strict=True)))


@pytest.mark.parametrize(("size", "found"), [(2, ["batch-too-small"]), (4, []), (16, [])])
def test_pieces_of_a_batch(size: int, found: list[str]) -> None:
    verdict = examine(lambda: micro_batches(size), Request("gradients_flow", "loop", 0, {}))
    assert [finding.cause for finding in verdict.findings] == found
    assert verdict.failed is bool(found)
