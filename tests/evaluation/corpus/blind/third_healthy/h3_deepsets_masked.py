import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_deepsets_masked", "source": "healthy; DeepSets with padding masks",
        "roots": [], "checks": [], "description": "padded sets pooled by masked mean and max, regression on set statistics", "location": ""}


class DeepSet(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU())
        self.rho = nn.Sequential(nn.Linear(96, 48), nn.ELU(), nn.Linear(48, 2))

    def forward(self, items, mask):
        h = self.phi(items)
        m = mask.unsqueeze(-1)
        mean = (h * m).sum(1) / m.sum(1)
        mx = h.masked_fill(~m, float("-inf")).amax(1)
        return self.rho(torch.cat([mean, mx], 1))


def collate(sets):
    L = max(len(s) for s in sets)
    out, mask = torch.zeros(len(sets), L, 2), torch.zeros(len(sets), L, dtype=torch.bool)
    for i, s in enumerate(sets):
        out[i, :len(s)], mask[i, :len(s)] = s, True
    y = torch.stack([torch.stack([s[:, 0].max(), (s[:, 0] * s[:, 1]).mean()]) for s in sets])
    return out, mask, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 15)

    def one():
        return torch.randn(int(torch.randint(3, 12, (1,), generator=g)), 2, generator=g)

    data = [collate([one() for _ in range(32)]) for _ in range(26)]
    m = DeepSet()
    return {"model": m, "optimizer": torch.optim.NAdam(m.parameters(), lr=3e-3), "data": data,
            "loss": lambda m, b: F.mse_loss(m(b[0], b[1]), b[2])}
