import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_stochastic_depth", "source": "healthy; residual MLP with drop-path and heavy input dropout",
        "roots": [], "checks": [], "description": "layer scale, per-sample drop-path up to 0.2 and dropout 0.3 in the blocks, wide enough to fit nonetheless", "location": ""}


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        keep = torch.rand(len(x), 1) >= self.p
        return x * keep / (1 - self.p)


class ResMLP(nn.Module):
    def __init__(self, i=14, w=96, depth=4, k=3, rate=0.2):
        super().__init__()
        self.stem = nn.Linear(i, w)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(w), nn.Linear(w, w), nn.GELU(), nn.Dropout(0.3), nn.Linear(w, w)) for _ in range(depth))
        self.gamma = nn.ParameterList(nn.Parameter(torch.full((w,), 0.3)) for _ in range(depth))
        self.drop = nn.ModuleList(DropPath(rate * d / (depth - 1)) for d in range(depth))
        self.head = nn.Linear(w, k)

    def forward(self, x):
        h = self.stem(x)
        for b, g, d in zip(self.blocks, self.gamma, self.drop):
            h = h + d(g * b(h))
        return self.head(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 41)
    x = torch.randn(32 * 100, 14, generator=g)
    y = (torch.tanh(x @ torch.randn(14, 6, generator=g) / 4) @ torch.randn(6, 3, generator=g)).argmax(1)
    b = list(zip(x.split(32), y.split(32)))
    net = ResMLP()
    return {"model": net, "optimizer": torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05),
            "data": b[:88], "val": b[88:], "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
