"""Smoke test of a regression loop."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_regression",
    "description": 'randn inputs, randn targets, SGD with momentum; only the mechanics are tested.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(32, 20), torch.randn(32, 1)) for _ in range(4)]
    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()

    def step(batch):
        x, y = batch
        pred = model(x)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
