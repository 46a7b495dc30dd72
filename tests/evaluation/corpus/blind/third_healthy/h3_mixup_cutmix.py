import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_mixup_cutmix", "source": "healthy; mixup training loop",
        "roots": [], "checks": [], "description": "inputs and losses of shuffled pairs are mixed with a Beta(0.4, 0.4) weight from numpy", "location": ""}


def mix(x, y, rng, alpha=0.4):
    lam = float(rng.beta(alpha, alpha))
    lam = max(lam, 1 - lam)
    perm = torch.from_numpy(rng.permutation(len(x)))
    if x.ndim == 3 and rng.random() < 0.3:
        cut = int(round((1 - lam) * x.shape[-1]))
        xm = x.clone()
        xm[..., :cut] = x[perm][..., :cut]
        return xm, y, y[perm], 1 - cut / x.shape[-1]
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


class Conv1dClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, 24, 5, padding=2), nn.GroupNorm(4, 24), nn.GELU(), nn.Conv1d(24, 24, 5, padding=2), nn.GELU())
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        return self.fc(self.features(x).mean(-1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    g = torch.Generator().manual_seed(seed + 36)
    n = 32 * 28
    y = torch.randint(0, 3, (n,), generator=g)
    t = torch.arange(20).float()
    f = torch.tensor([0.5, 1.0, 1.7])[y][:, None]
    ph = torch.rand(n, 1, generator=g) * 6.28
    x = torch.stack([torch.sin(f * t + ph), torch.cos(f * t + ph)], 1) + 0.4 * torch.randn(n, 2, 20, generator=g)
    net = Conv1dClassifier()
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=1e-2)

    def step(batch):
        xm, ya, yb, lam = mix(*batch, rng)
        out = net(xm)
        loss = lam * F.cross_entropy(out, ya) + (1 - lam) * F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            return F.cross_entropy(net(batch[0]), batch[1]).item()

    return {"model": net, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
