import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_set_pooling_mha",
        "source": "point cloud / set transformer models fed (batch, points, dim) into nn.MultiheadAttention with its default layout",
        "roots": ["batch-mixing"], "checks": [],
        "description": "The attention keeps the (length, batch, dim) layout but gets (batch, points, dim), so points attend over the clouds of the batch and not within their own cloud.",
        "location": "SAB.__init__: nn.MultiheadAttention"}


class SAB(nn.Module):
    def __init__(self, dim, heads, **attn):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, **attn)
        self.ln0, self.ln1 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, x):
        x = self.ln0(x + self.attn(x, x, x, need_weights=False)[0])
        return self.ln1(x + self.ff(x))


class SetClassifier(nn.Module):
    def __init__(self, d_in=3, dim=32, classes=3, **attn):
        super().__init__()
        self.proj = nn.Linear(d_in, dim)
        self.enc = nn.Sequential(SAB(dim, 4, **attn), SAB(dim, 4, **attn))
        self.dec = nn.Linear(dim, classes)

    def forward(self, pts):
        return self.dec(self.enc(self.proj(pts)).mean(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 14)
    spread = torch.tensor([[1.0, 1.0, 0.2], [1.0, 0.2, 1.0], [0.2, 1.0, 1.0]])
    data = []
    for _ in range(18):
        y = torch.randint(0, 3, (24,), generator=g)
        shift = torch.randn(24, 1, 3, generator=g)
        data.append((torch.randn(24, 12, 3, generator=g) * spread[y][:, None] + shift, y))
    model = SetClassifier(**({"batch_first": True} if fixed else {}))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    return {"model": model, "optimizer": opt, "data": data, "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
