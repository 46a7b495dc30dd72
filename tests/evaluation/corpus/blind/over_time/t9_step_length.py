"""Step length from a hip sensor. Persons of the validation set do not occur in training."""
import torch
from torch import nn

META = {"id": "t9_step_length", "source": "gait laboratory repository, GroupShuffleSplit", "roots": [],
        "checks": ["generalizes"], "description": "healthy: split by person, every person with many steps", "location": ""}

PERSONS, STEPS = 120, 24


def measure(seed):
    g = torch.Generator().manual_seed(seed + 60)
    height = 1.72 + 0.09 * torch.randn(PERSONS, generator=g)
    sway = torch.randn(PERSONS, 3, generator=g)
    person = torch.arange(PERSONS).repeat_interleave(STEPS)
    n = len(person)
    cadence = 1.8 + 0.2 * torch.randn(n, generator=g)
    impact = torch.randn(n, generator=g)
    slope = 0.05 * torch.randn(n, generator=g)
    length = height[person] * (0.25 + 0.12 * cadence) + 0.03 * impact - 0.6 * slope + 0.008 * torch.randn(n, generator=g)
    x = torch.stack([(height[person] - 1.72) / 0.09, (cadence - 1.8) / 0.2, impact, slope / 0.05], 1)
    x = torch.cat([x, 0.15 * sway[person] + 0.3 * torch.randn(n, 3, generator=g)], 1)
    return person, x, (length - 0.8) / 0.07


class StepLength(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(7, 40), nn.ELU(), nn.Linear(40, 40), nn.ELU(), nn.Linear(40, 1))

    def forward(self, x):
        return self.seq(x).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    person, x, y = measure(seed)
    validation = person >= 100
    order = torch.randperm(int((~validation).sum()))
    xt, yt = x[~validation][order], y[~validation][order]
    xv, yv = x[validation], y[validation]
    model = StepLength()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    def loss(model, batch):
        sensor, length = batch
        return nn.functional.mse_loss(model(sensor), length)

    return {"model": model, "optimizer": optimizer, "data": list(zip(xt.split(32), yt.split(32))),
            "val": list(zip(xv.split(24), yv.split(24))), "loss": loss}
