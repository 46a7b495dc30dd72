"""BYOL with a momentum target and a predictor."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_byol",
    "description": 'No negatives; the target branch is a frozen EMA copy; loss 2 - 2 cos, summed over both directions, falls from about 4 and does not collapse thanks to predictor and BatchNorm.',
    "roots": [],
}


def head(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, o))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), head(64, 16))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = head(16, 16)

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        sim = lambda p, t: 2 - 2 * F.cosine_similarity(p, t, dim=1).mean()
        return sim(pa, tb) + sim(pb, ta)

    @torch.no_grad()
    def momentum_update(self, m=0.97):
        for p, q in zip(self.online.parameters(), self.target.parameters()):
            q.mul_(m).add_(p, alpha=1 - m)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(8, 20)
    data = [torch.randn(64, 8) @ mix for _ in range(8)]
    model = BYOL()
    optimizer = torch.optim.Adam([*model.online.parameters(), *model.predictor.parameters()], lr=2e-3)

    def step(x):
        loss = model(x + 0.4 * torch.randn_like(x), x + 0.4 * torch.randn_like(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.momentum_update()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
