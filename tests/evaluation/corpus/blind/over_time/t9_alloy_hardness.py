import torch
from torch import nn

META = {"id": "t9_alloy_hardness", "source": "materials science repository, a dozen melts kept for validation", "roots": [],
        "checks": ["generalizes"], "description": "healthy: the validation set has only twelve samples", "location": ""}

ELEMENTS = ["Fe", "Cr", "Ni", "Mo", "C", "Mn"]


class MeltDB:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(1000 + seed)
        share = torch.distributions.Dirichlet(torch.tensor([8.0, 3.0, 3.0, 1.0, 1.0, 1.0]))
        state = torch.random.get_rng_state()
        torch.manual_seed(seed + 1000)
        self.composition = share.sample((1612,))
        torch.random.set_rng_state(state)
        c = self.composition
        hard = 180 + 420 * c[:, 4] + 160 * c[:, 1] + 300 * c[:, 3] * c[:, 1] * 4 - 90 * c[:, 2] + 60 * (c[:, 5] > 0.08)
        self.hardness = hard + 3 * torch.randn(1612, generator=g)

    def normalised(self):
        c, h = self.composition[12:], self.hardness[12:]
        return (self.composition - c.mean(0)) / c.std(0), (self.hardness - h.mean()) / h.std()


class HardnessModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(len(ELEMENTS), 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.out = nn.Linear(64, 1)

    def forward(self, c):
        return self.out(self.trunk(c)).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    c, h = MeltDB(seed).normalised()
    model = HardnessModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    train = list(zip(c[12:].split(32), h[12:].split(32)))
    val = [(c[:12], h[:12])]

    def loss(model, batch):
        composition, hardness = batch
        return nn.functional.smooth_l1_loss(model(composition), hardness)

    return {"model": model, "optimizer": optimizer, "data": train, "val": val, "loss": loss}
