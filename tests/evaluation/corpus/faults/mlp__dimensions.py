"""A softmax over the wrong dimension, right before the loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pytest_trainhealth import Training

from ..healthy.toydata import blobs, loader
from . import fault


@fault("batch-mixing", hard=True)
def log_softmax_over_the_batch(broken: bool) -> Training:
    """Each class is normalised over the samples: nothing makes a sample choose. The loss falls nevertheless."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch: list[Tensor]) -> Tensor:
        inputs, labels = batch
        optimizer.zero_grad()
        said = F.log_softmax(model(inputs), dim=0 if broken else 1)
        loss = F.nll_loss(said, labels)
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=loader(*blobs()))
