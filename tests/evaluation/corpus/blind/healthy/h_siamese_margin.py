"""Signature verification by a siamese net."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_siamese_margin",
    "description": 'One network applied twice; contrastive loss with margin whose dissimilar pairs give exactly zero once they are far enough apart.',
    "roots": [],
}


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, a, b):
        return (self.net(a) - self.net(b)).pow(2).sum(1).add(1e-8).sqrt()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    proto = torch.randn(12, 16)
    data = []
    for _ in range(8):
        ia = torch.randint(0, 12, (48,))
        same = torch.rand(48) < 0.5
        ib = torch.where(same, ia, (ia + torch.randint(1, 12, (48,))) % 12)
        data.append((proto[ia] + 0.2 * torch.randn(48, 16), proto[ib] + 0.2 * torch.randn(48, 16), same.float()))
    model = Siamese()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        a, b, same = batch
        d = model(a, b)
        return (same * d.pow(2) + (1 - same) * F.relu(1.5 - d).pow(2)).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
