import copy, math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_byol_images", "source": "self-distillation code", "roots": [], "checks": [],
        "description": "healthy BYOL: predictor on the online branch only, EMA target with rising momentum", "location": ""}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.proj = nn.Sequential(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.proj(self.conv(x))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = Net()
        self.pred = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a, b):
        pa, pb = self.pred(self.online(a)), self.pred(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    xy = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij"))
    c = torch.rand(320, 2, 1, 1, generator=g) * 1.4 - 0.7
    w = 0.1 + 0.4 * torch.rand(320, 1, 1, generator=g)
    imgs = torch.exp(-((xy - c) ** 2).sum(1) / w)[:, None]
    imgs = (imgs - imgs.mean()) / imgs.std()
    model = BYOL()
    trained = [*model.online.parameters(), *model.pred.parameters()]
    opt = torch.optim.Adam([{"params": [p for p in trained if p.ndim > 1], "weight_decay": 1e-6},
                            {"params": [p for p in trained if p.ndim == 1]}], lr=2e-3)
    n = {"it": 0}

    def aug(x):
        return x * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1)) + 0.2 * torch.randn_like(x)

    def step(x):
        model.train()
        loss = model(aug(x), aug(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        n["it"] += 1
        tau = 1 - 0.04 * (math.cos(math.pi * min(1, n["it"] / 1000)) + 1) / 2
        with torch.no_grad():
            for t, o in zip(model.target.parameters(), model.online.parameters()):
                t.lerp_(o, 1 - tau)
        return loss.item()

    return {"model": model, "optimizer": opt, "data": list(imgs.split(32)), "step": step}
