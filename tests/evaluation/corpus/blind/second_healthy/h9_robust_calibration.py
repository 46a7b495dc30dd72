import torch
from torch import nn

META = {"id": "h9_robust_calibration", "source": "sensor calibration at an instrument maker", "roots": [], "checks": [],
        "description": "healthy Barron general robust loss with learned scale against gross outliers; polynomial features, float64, raw units",
        "location": ""}


class Calibration(nn.Module):
    """converts raw ADC counts and temperature to pressure in pascal"""

    def __init__(self, counts, temp, pressure):
        super().__init__()
        for n, v in dict(c=counts, t=temp, p=pressure).items():
            med = v.median()
            self.register_buffer(n + "_mid", med)
            self.register_buffer(n + "_iqr", v.quantile(0.75) - v.quantile(0.25))
        self.coef = nn.Linear(9, 1).double()
        nn.init.zeros_(self.coef.weight), nn.init.zeros_(self.coef.bias)
        self.log_c = nn.Parameter(torch.zeros((), dtype=torch.float64))

    def forward(self, counts, temp):
        a, b = (counts - self.c_mid) / self.c_iqr, (temp - self.t_mid) / self.t_iqr
        f = torch.stack([a, b, a * a, a * b, b * b, a ** 3, a * a * b, a * b * b, b ** 3], 1)
        return self.coef(f).squeeze(1)

    def nll(self, counts, temp, pressure):
        r = self(counts, temp) - (pressure - self.p_mid) / self.p_iqr
        c = self.log_c.exp()
        return (torch.log1p(0.5 * (r / c) ** 2) + self.log_c).mean()           # Cauchy, scale is learned


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 1200
    counts = torch.rand(n, generator=g, dtype=torch.float64) * 30000 + 2000
    temp = torch.randn(n, generator=g, dtype=torch.float64) * 12 + 290
    u, v = (counts - 17000) / 15000, (temp - 290) / 12
    p = 101325 + 8000 * u + 900 * v + 700 * u * u - 400 * u * v + 60 * torch.randn(n, generator=g, dtype=torch.float64)
    bad = torch.rand(n, generator=g) < 0.06
    p[bad] = torch.where(torch.rand(int(bad.sum()), generator=g) < 0.5, 0.0, 999999.0).double()
    model = Calibration(counts, temp, p)
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400, eta_min=1e-3)
    data = list(zip(counts.split(60), temp.split(60), p.split(60)))

    def step(batch):
        opt.zero_grad()
        loss = model.nll(*batch)
        loss.backward()
        opt.step()
        if sched.last_epoch < 400:
            sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
