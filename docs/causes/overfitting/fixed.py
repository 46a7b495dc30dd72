"""The same model, stopped when it has learnt what carries over."""

import torch
import torch.nn.functional as F
from torch import nn

CHECKS = ("history_is_healthy",)
SAMPLES = 64


def history():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(SAMPLES + 512, 20, generator=generator)
    labels = (inputs[:, :3].sum(1) + torch.randn(len(inputs), generator=generator) > 0).long()
    train, val = slice(0, SAMPLES), slice(SAMPLES, None)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    log = {"loss": [], "val_loss": []}
    for _ in range(8):
        for rows in torch.arange(SAMPLES).split(16):
            loss = F.cross_entropy(model(inputs[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            log["loss"].append(F.cross_entropy(model(inputs[train]), labels[train]).item())
            log["val_loss"].append(F.cross_entropy(model(inputs[val]), labels[val]).item())
    return log
