"""Sales regression with gradient accumulation over slices of each batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_micro_batches",
    "source": "CASES.md E stackoverflow 53332663 (missing API call); own experience (accumulation window longer than the loop)",
    "roots": ["missing-optimizer-step"],
    "description": "accumulation window of 8 slices, but a batch has only 4 and the counter restarts: optimizer.step() is never reached",
    "location": "step: (i + 1) % accumulate == 0",
    "shows_in": "one-batch",
}


class SalesNet(nn.Module):
    def __init__(self, n_shops=12, n_in=8):
        super().__init__()
        self.shop = nn.Embedding(n_shops, 6)
        self.net = nn.Sequential(nn.Linear(n_in + 6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, shop, x):
        return self.net(torch.cat([self.shop(shop), x], dim=1)).squeeze(1)


def make_data(g, n_batches=8, batch=32):
    level = torch.randn(12, generator=g)
    w = torch.randn(8, generator=g) / 2
    data = []
    for _ in range(n_batches):
        shop = torch.randint(0, 12, (batch,), generator=g)
        x = torch.randn(batch, 8, generator=g)
        data.append((shop, x, level[shop] + x @ w + 0.5 * torch.relu(x[:, 0])))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 71)
    data = make_data(g)
    model = SalesNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    accumulate = 4 if fixed else 8

    def step(batch):
        total = 0.0
        slices = list(zip(*(t.split(8) for t in batch)))
        optimizer.zero_grad()
        for i, (shop, x, y) in enumerate(slices):
            loss = F.mse_loss(model(shop, x), y) / accumulate
            loss.backward()
            total += loss.item() * accumulate
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        return total / len(slices)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
