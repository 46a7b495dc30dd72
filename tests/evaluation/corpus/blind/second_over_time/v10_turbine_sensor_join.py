import torch
from torch import nn

META = {"id": "v10_turbine_sensor_join",
        "source": "pandas merges on a key of another type (int against str): all right-hand columns come out empty and fillna(0) hides it",
        "roots": ["constant-features"],
        "checks": [],
        "description": "28 of 32 sensor columns are 0 in every row because the join found no key and the gaps were filled, so the power output can only be guessed from four columns.",
        "location": "Historian.join: keys of the vibration table never match"}

OWN, REMOTE = 4, 28


class Historian:
    def __init__(self, g):
        self.g = g
        self.w1 = torch.randn(OWN + REMOTE, 6, generator=g) / 4
        self.w2 = torch.randn(6, generator=g)

    def log(self, n):
        core = torch.randn(n, 12, generator=self.g)
        spread = torch.randn(12, OWN + REMOTE, generator=torch.Generator().manual_seed(7)) / 12 ** 0.5
        raw = core @ spread + 0.4 * torch.randn(n, OWN + REMOTE, generator=self.g)
        power = torch.tanh(raw @ self.w1) @ self.w2 + 0.1 * torch.randn(n, generator=self.g)
        keys = torch.randperm(n, generator=self.g)
        own = {int(k): raw[i, :OWN] for i, k in enumerate(keys)}
        remote = {int(k): raw[i, OWN:] for i, k in enumerate(keys)}
        return own, remote, {int(k): power[i] for i, k in enumerate(keys)}

    @staticmethod
    def join(own, remote, cast):
        gap = torch.zeros(REMOTE)
        return torch.stack([torch.cat([row, remote.get(cast(k), gap)]) for k, row in own.items()])


class PowerCurve(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(OWN + REMOTE, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.f(x)[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    h = Historian(torch.Generator().manual_seed(seed + 9))

    def table(n, size):
        own, remote, power = h.log(n)
        x = h.join(own, remote, int if fixed else str)
        y = torch.stack([power[k] for k in own])
        return [{"sensors": x[i:i + size], "power": y[i:i + size]} for i in range(0, n, size)]

    data, val = table(1280, 32), table(256, 64)
    model = PowerCurve()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3), "data": data, "val": val,
            "loss": lambda m, b: nn.functional.mse_loss(m(b["sensors"]), b["power"])}
