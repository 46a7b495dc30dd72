import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_flat_prices_assessment",
        "source": "Ames/King-County price notebooks that keep the tax assessment, which is computed from the sale itself (Kaggle 'data leakage' lesson)",
        "roots": ["target-leakage"],
        "checks": [],
        "description": "The column tax_base is a rescaled monotone copy of the price to be predicted (written after the sale), so the model reads it off and learns nothing from the flat.",
        "location": "FlatFrame.tensor: tax_base in the feature columns"}

COLUMNS = ["area", "rooms", "floor", "age", "balcony", "distance", "lift", "energy"]


class FlatFrame(dict):
    @classmethod
    def simulate(cls, n, g):
        f = cls({c: torch.randn(n, generator=g) for c in COLUMNS})
        price = (0.8 * f["area"] + 0.35 * f["rooms"] - 0.5 * f["distance"] + 0.4 * torch.tanh(2 * f["energy"])
                 - 0.3 * f["age"] * (f["lift"] > 0) + 0.25 * torch.randn(n, generator=g))
        f["price"] = price
        f["tax_base"] = (torch.exp(0.5 * price) - 1.2) / 0.7
        return f

    def tensor(self, columns):
        return torch.stack([self[c] for c in columns], 1)


class PriceNet(nn.Module):
    def __init__(self, width, hidden=48):
        super().__init__()
        self.inp = nn.Linear(width, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = F.silu(self.inp(x))
        return self.out(h + F.silu(self.mid(h))).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 40)
    columns = COLUMNS + ([] if fixed else ["tax_base"])
    sets = []
    for n, size in ((1280, 32), (256, 64)):
        frame = FlatFrame.simulate(n, g)
        sets.append(list(zip(frame.tensor(columns).split(size), frame["price"].split(size))))
    model = PriceNet(len(columns))
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3), "data": sets[0],
            "val": sets[1], "loss": lambda m, b: F.smooth_l1_loss(m(b[0]), b[1])}
