import torch
from torch import nn

META = {"id": "t9_pump_scaler", "source": "predictive maintenance repository, scaler applied to one split",
        "roots": ["unnormalized-inputs", "overfitting"], "checks": ["generalizes"],
        "description": "training readings are standardised, validation readings are only divided by their maximum",
        "location": "PumpData.split('val'): other scaling than split('train'); the list of causes has no exact name"}


class PumpData:
    """pressure, flow, current, vibration x2, temperature -> remaining life (in months)"""

    def __init__(self, seed, same_scaler):
        g = torch.Generator().manual_seed(seed + 1)
        n = 3000
        unit = torch.randn(n, 6, generator=g)
        wear = (0.9 * unit[:, 3] + 0.7 * unit[:, 4] * unit[:, 2] - 0.8 * unit[:, 0] + 0.4 * unit[:, 5]).tanh()
        self.life = 12 * (1 - 0.8 * wear) + 0.3 * torch.randn(n, generator=g)
        offset = torch.tensor([5.0, 120.0, 14.0, 2.0, 2.5, 61.0])
        spread = torch.tensor([0.7, 18.0, 2.0, 0.6, 0.5, 7.0])
        self.raw = offset + spread * unit
        self.cut = 2500
        self.same_scaler = same_scaler
        self.mean = self.raw[:self.cut].mean(0)
        self.std = self.raw[:self.cut].std(0)
        self.life_mean = self.life[:self.cut].mean()
        self.life_std = self.life[:self.cut].std()

    def split(self, name):
        target = (self.life - self.life_mean) / self.life_std
        if name == "train":
            return (self.raw[:self.cut] - self.mean) / self.std, target[:self.cut]
        raw = self.raw[self.cut:]
        if self.same_scaler:
            return (raw - self.mean) / self.std, target[self.cut:]
        return raw / raw.max(0).values, target[self.cut:]


class LifeNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.inp = nn.Linear(6, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = torch.nn.functional.silu(self.inp(x))
        h = h + torch.nn.functional.silu(self.mid(h))
        return self.out(h).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    pumps = PumpData(seed, same_scaler=fixed)
    model = LifeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loaders = {}
    for name in ("train", "val"):
        x, y = pumps.split(name)
        loaders[name] = [(x[i:i + 50], y[i:i + 50]) for i in range(0, len(x), 50)]

    def mse(model, batch):
        x, y = batch
        return ((model(x) - y) ** 2).mean()

    return {"model": model, "optimizer": optimizer, "data": loaders["train"], "val": loaders["val"], "loss": mse}
