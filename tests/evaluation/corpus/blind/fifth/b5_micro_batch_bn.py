"""Tabular demand model with BatchNorm, trained with micro-batches to save memory."""
import torch
import torch.nn as nn

META = {
    "id": "b5_micro_batch_bn",
    "source": "CASES.md: TheDeepChecker 59648509 / 48320854 (batch normalisation with tiny batches), DeepCrime change_batch_size",
    "roots": ["batch-too-small"],
    "description": "the batch is split into micro-batches of 2, so BatchNorm normalises over two samples and only the sign of their difference is left",
    "location": "Runner.micro_size with BatchNorm1d",
    "shows_in": "one-batch",
}


class DemandNet(nn.Module):
    def __init__(self, n_in, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


class Runner:
    def __init__(self, model, micro_size):
        self.model = model
        self.micro_size = micro_size
        self.optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        perm = torch.randperm(len(x))
        total = 0.0
        chunks = perm.split(self.micro_size)
        for idx in chunks:
            loss = nn.functional.mse_loss(self.model(x[idx]), y[idx]) / len(chunks)
            loss.backward()
            total = total + loss.detach()
        self.optimizer.step()
        return total


def demand(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = 2 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2] * x[:, 3] + torch.sin(2 * x[:, 4])
    return x, (y - y.mean()) / y.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = demand(6 * 16, seed)
    data = list(zip(x.split(16), y.split(16)))
    model = DemandNet(12)
    runner = Runner(model, micro_size=16 if fixed else 2)
    return {"model": model, "optimizer": runner.optimizer, "data": data, "step": runner.step}
