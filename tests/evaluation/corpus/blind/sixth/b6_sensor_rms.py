"""Fault classifier on raw sensor readings with an RMSNorm front end."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_sensor_rms",
    "source": "RMSNorm / variance computed in half precision (T5 and Pegasus fp16 overflow, CASES.md I: transformers #12225)",
    "roots": ["low-precision-overflow", "precision-mismatch"],
    "checks": ["keeps_precision"],
    "description": "The mean square is computed in float16 and overflows to inf for readings above 256, which turns those rows into zeros.",
    "location": "RMSNorm.forward: x.to(self.stat_dtype).pow(2)",
}


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-3, stat_dtype=torch.float16):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps
        self.stat_dtype = stat_dtype

    def forward(self, x):
        ms = x.to(self.stat_dtype).pow(2).mean(-1, keepdim=True)
        inv = torch.rsqrt(ms.float() + self.eps)
        return x * inv * self.weight


class FaultNet(nn.Module):
    def __init__(self, stat_dtype):
        super().__init__()
        self.norm = RMSNorm(12, stat_dtype=stat_dtype)
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 5))

    def forward(self, x):
        return self.body(self.norm(x))


def readings(n, proto, gen):
    y = torch.randint(0, 5, (n,), generator=gen)
    base = proto[y] + 0.3 * torch.randn(n, 12, generator=gen)
    gain = torch.where(torch.rand(n, 1, generator=gen) < 0.4, 400.0, 25.0)
    return base * gain, y


def loss_fn(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 2)
    proto = torch.randn(5, 12, generator=gen)
    data = [readings(40, proto, gen) for _ in range(8)]
    model = FaultNet(torch.float32 if fixed else torch.float16)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
