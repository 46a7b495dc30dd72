"""Patient scans do not fit in memory at once: each batch is worked off in small pieces."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_large_scan_bn",
    "source": "CASES.md E DeepPavlov 7aeb0be6, deepgram/kur e4dc799 (suboptimal batch size)",
    "roots": ["batch-too-small"],
    "description": "BatchNorm sees pieces of 2 samples: it turns every feature into plus or minus one",
    "location": "step: piece = 2 with BatchNorm1d layers",
    "shows_in": "one-batch",
}


class ScanNet(nn.Module):
    def __init__(self, n_in=30, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def scans(g, n_batches=12, batch=16):
    w = torch.randn(30, 2, generator=g) / 5
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch, 30, generator=g)
        s = x @ w
        data.append((x, s[:, 0] + 0.5 * s[:, 1].abs()))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 91)
    data = scans(g)
    model = ScanNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    piece = 16 if fixed else 2

    def step(batch):
        model.train()
        x, y = batch
        order = torch.randperm(len(x))
        optimizer.zero_grad()
        total = 0.0
        for idx in order.split(piece):
            loss = F.mse_loss(model(x[idx]), y[idx]) * len(idx) / len(x)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return total

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
