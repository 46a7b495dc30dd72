"""Samples of one class should lie closer together than those of two. The loss asks some triples of them."""

import torch
from torch import nn

from pytest_trainhealth import Training

SAMPLES = 40_000


def loss(model, batch):
    inputs, labels = batch
    each = torch.arange(SAMPLES)
    anchor, near, far = each[torch.randint(SAMPLES, (3, 1000))]
    fits = (labels[anchor] == labels[near]) & (labels[anchor] != labels[far])
    places = model(inputs)
    triples = (places[index[fits]] for index in (anchor, near, far))
    return nn.functional.triplet_margin_loss(*triples)


def training():
    labels = torch.randint(3, (SAMPLES,))
    inputs = nn.functional.one_hot(labels, 3) + torch.randn(SAMPLES, 3)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return Training(model, optimizer, loss=loss, data=(inputs, labels))


#: Neighbours are drawn at random: no loss can be compared with that of one batch learnt by heart.
CHECKS = ("gradients_flow", "trains_without_nan")
