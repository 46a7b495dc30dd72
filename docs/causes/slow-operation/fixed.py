"""A penalty on the size of the matrix that needs no decomposition."""

import torch
import torch.nn.functional as F
from torch import nn

from pytest_trainhealth import Training

GATES = {"min_samples_per_second": 500, "steps": 10}


def training():
    model = nn.Sequential(nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def loss(model, batch):
        size = torch.linalg.matrix_norm(model[0].weight, ord="fro")
        return F.cross_entropy(model(batch[0]), batch[1]) + 1e-3 * size

    batches = [(torch.randn(8, 640), torch.randint(4, (8,))) for _ in range(8)]
    return Training(model, optimizer, loss=loss, data=batches)
