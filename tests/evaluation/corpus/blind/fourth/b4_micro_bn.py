"""Depth regression with BatchNorm; the batch is cut into micro-batches to save memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_micro_bn",
    "source": "CASES.md 48320854 / 59648509 (BatchNorm with a batch size of one or two)",
    "roots": ["batch-too-small"],
    "description": "micro-batches of 2 reach the BatchNorm layers, whose statistics are then meaningless",
    "location": "micro_batch in MicroBatcher",
    "shows_in": "one-batch",
}


class DepthNet(nn.Module):
    def __init__(self, n_in=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


class MicroBatcher:
    def __init__(self, model, optimizer, micro_batch):
        self.model, self.optimizer, self.micro_batch = model, optimizer, micro_batch

    def step(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for x, y in zip(batch["x"].split(self.micro_batch), batch["depth"].split(self.micro_batch)):
            loss = F.mse_loss(self.model(x), y) * len(x) / len(batch["x"])
            loss.backward()
            total += loss.detach()
        self.optimizer.step()
        return total


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(192, 16)
    w = torch.randn(16) / 4
    depth = 2 * (x @ w) + torch.sin(2 * x[:, 0])
    data = [{"x": x[i:i + 16], "depth": depth[i:i + 16]} for i in range(0, 192, 16)]
    model = DepthNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    runner = MicroBatcher(model, optimizer, micro_batch=16 if fixed else 2)
    return {"model": model, "optimizer": optimizer, "data": data, "step": runner.step}
