import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_tcn_forecast", "source": "healthy; TCN forecaster with reversible instance normalisation",
        "roots": [], "checks": [], "description": "each window is normalised by its own level and spread, series of very unlike scale, loss on the normalised horizon", "location": ""}


class CausalConv(nn.Module):
    def __init__(self, i, o, dil):
        super().__init__()
        self.pad = 2 * dil
        self.conv = nn.Conv1d(i, o, 3, dilation=dil)

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class TCN(nn.Module):
    def __init__(self, w=24, horizon=4):
        super().__init__()
        self.inp = CausalConv(1, w, 1)
        self.res = nn.ModuleList(CausalConv(w, w, d) for d in (2, 4, 8))
        self.out = nn.Linear(w, horizon)

    def forward(self, past):
        mu, sd = past.mean(1, keepdim=True), past.std(1, keepdim=True) + 1e-5
        h = F.relu(self.inp(((past - mu) / sd)[:, None]))
        for r in self.res:
            h = h + F.relu(r(h))
        return self.out(h[:, :, -1]), mu, sd


def loss_fn(m, b):
    pred, mu, sd = m(b["past"])
    return F.l1_loss(pred, (b["future"] - mu) / sd)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 40)
    n, t = 32 * 26, torch.arange(28).float()
    per = torch.tensor([6.0, 8.0, 12.0])[torch.randint(0, 3, (n, 1), generator=g)]
    ph = torch.rand(n, 1, generator=g) * 6.28
    level, amp = 20 + 30 * torch.rand(n, 1, generator=g), 2 + 6 * torch.rand(n, 1, generator=g)
    s = level + amp * torch.sin(6.2832 * t / per + ph) + 0.08 * amp * torch.randn(n, 28, generator=g)
    data = [{"past": c[:, :24], "future": c[:, 24:]} for c in s.split(32)]
    m = TCN()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=4e-3), "data": data, "loss": loss_fn}
