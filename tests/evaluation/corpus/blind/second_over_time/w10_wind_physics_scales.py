import torch
from torch import nn

META = {"id": "w10_wind_physics_scales",
        "source": "physics surrogates whose raw quantities span orders of magnitude and are standardised inside the model by buffers",
        "roots": [],
        "checks": [],
        "description": "Healthy: raw inputs reach from 1e-3 to 1e5 and the target from 1e1 to 1e6; the model takes logs and standardises with training statistics held in buffers, the loss is on the log scale.",
        "location": ""}


def turbines(n, g):
    rho = 1.2 + 0.1 * torch.randn(n, generator=g)
    speed = 3 + 12 * torch.rand(n, generator=g)
    radius = 10 ** (2 * torch.rand(n, generator=g))
    rough = 10 ** (-3 + 3 * torch.rand(n, generator=g))
    pressure = 1e5 + 1500 * torch.randn(n, generator=g)
    shear = 1 + 0.15 * torch.log10(rough) * torch.tanh(torch.log10(radius) - 1)
    power = 0.5 * rho * radius ** 2 * (speed * shear) ** 3 * (pressure / 1e5) * torch.exp(0.05 * torch.randn(n, generator=g))
    return torch.stack([rho, speed, radius, rough, pressure], 1), power


class LogStandardiser(nn.Module):
    def __init__(self, x):
        super().__init__()
        z = x.log()
        self.register_buffer("mu", z.mean(0))
        self.register_buffer("sd", z.std(0))

    def forward(self, x):
        return (x.log() - self.mu) / self.sd


class Surrogate(nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.norm, self.target = LogStandardiser(x), LogStandardiser(y[:, None])
        self.net = nn.Sequential(nn.Linear(5, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(self.norm(x))

    def error(self, x, y):
        return (self(x) - self.target(y[:, None])).pow(2).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 410)
    x, y = turbines(1600, g)
    xv, yv = turbines(320, g)
    model = Surrogate(x, y)
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
            "data": list(zip(x.split(40), y.split(40))), "val": list(zip(xv.split(80), yv.split(80))),
            "loss": lambda m, b: m.error(*b)}
