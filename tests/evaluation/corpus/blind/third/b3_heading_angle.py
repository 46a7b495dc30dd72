"""Heading estimation: a small network reads radar returns and predicts a unit direction, angular loss."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_heading_angle",
    "source": "CASES.md J, nan-gradient-for-torch-cos-torch-acos/9617",
    "roots": ["unstable-operation"],
    "description": "acos of a cosine that reaches 1 as the fit gets good: infinite or NaN gradient",
    "location": "loss: torch.acos(cos)",
    "shows_in": "nan",
}


class HeadingNet(nn.Module):
    def __init__(self, n_beams=24, hidden=96):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(n_beams, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
        )
        self.direction = nn.Linear(hidden, 2)

    def forward(self, x):
        return F.normalize(self.direction(self.backbone(x)), dim=-1)


def angular_distance(pred, target, fixed):
    cos = (pred * target).sum(dim=-1)
    if fixed:
        cos = cos.clamp(-1 + 1e-6, 1 - 1e-6)
    return torch.acos(cos)


def radar_scan(angle, g, n_beams=24):
    beams = torch.linspace(0, 2 * math.pi, n_beams + 1)[:-1]
    diff = angle[:, None] - beams[None]
    echo = torch.exp(2.0 * (torch.cos(diff) - 1)) + 0.3 * torch.cos(2 * diff)
    return echo + 0.02 * torch.randn(echo.shape, generator=g)


def make_data(g, n_batches=8, batch=48):
    data = []
    for _ in range(n_batches):
        angle = torch.rand(batch, generator=g) * 2 * math.pi
        x = radar_scan(angle, g)
        y = torch.stack([torch.cos(angle), torch.sin(angle)], dim=-1)
        data.append({"scan": x, "heading": y})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 7)
    data = make_data(g)
    model = HeadingNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        pred = model(batch["scan"])
        return angular_distance(pred, batch["heading"], fixed).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
