import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_neural_ode_rk4", "source": "healthy; latent dynamics with hand-written RK4",
        "roots": [], "checks": [], "description": "vector field fitted to damped oscillator trajectories from initial states", "location": ""}


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2, bias=False)
        self.mlp = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.zeros_(self.lin.weight)

    def forward(self, t, y):
        return self.lin(y) + self.mlp(y)


def odeint(f, y0, ts):
    ys, y = [y0], y0
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h = t1 - t0
        k1 = f(t0, y)
        k2 = f(t0 + h / 2, y + h / 2 * k1)
        k3 = f(t0 + h / 2, y + h / 2 * k2)
        k4 = f(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        ys.append(y)
    return torch.stack(ys, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 10)
    ts = torch.linspace(0, 2, 9)
    y0 = torch.rand(32 * 16, 2, generator=g) * 3 - 1.5
    with torch.no_grad():
        fine = odeint(lambda t, y: torch.stack([y[:, 1], -2 * torch.sin(y[:, 0]) - 0.2 * y[:, 1]], 1), y0, torch.linspace(0, 2, 65))
    obs = fine[:, ::8]
    f = Field()
    opt = torch.optim.Adam(f.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.98)

    def loss(m, batch):
        return F.mse_loss(odeint(m, batch[0], ts)[:, 1:], batch[1][:, 1:])

    return {"model": f, "optimizer": opt, "scheduler": sched, "loss": loss, "data": list(zip(y0.split(32), obs.split(32)))}
