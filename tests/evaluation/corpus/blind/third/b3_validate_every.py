"""Wafer map classification with dropout and BatchNorm, validated every few steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_validate_every",
    "source": "own experience (model.train() only before the loop)",
    "roots": ["wrong-mode"],
    "description": "validation switches to eval mode and training goes on in it: dropout is off and BatchNorm no longer follows the data",
    "location": "validate: model.eval() without a later model.train()",
    "shows_in": "wiring",
}


class WaferNet(nn.Module):
    def __init__(self, n_defects=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(32 * 9, n_defects)

    def forward(self, x):
        return self.fc(self.drop(self.conv(x).flatten(1)))


def wafers(g, n_batches=9, batch=24):
    pattern = (torch.rand(6, 1, 12, 12, generator=g) < 0.3).float()
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch,), generator=g)
        flip = (torch.rand(batch, 1, 12, 12, generator=g) < 0.08).float()
        data.append(((pattern[y] - flip).abs() - 0.3, y))
    return data


def validate(model, batch):
    model.eval()
    with torch.no_grad():
        x, y = batch
        return (model(x).argmax(1) == y).float().mean().item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 86)
    *data, held_out = wafers(g)
    model = WaferNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    model.train()

    def step(batch):
        if fixed:
            model.train()
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        if len(history) % 5 == 0:
            validate(model, held_out)
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
