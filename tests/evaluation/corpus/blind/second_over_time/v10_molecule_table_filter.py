import torch
from torch import nn

META = {"id": "v10_molecule_table_filter",
        "source": "QSAR scripts that drop unparsable SMILES from the descriptor table but not from the activity column (RDKit mailing list)",
        "roots": ["labels-not-aligned"],
        "checks": [],
        "description": "Unparsable molecules are removed from the descriptors while the activities keep all rows and are cut to length, so after the first removal each molecule has the activity of an earlier one.",
        "location": "Assay.table: the mask is not applied to the activities"}


class Assay:
    BITS = 24

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.effect = torch.randn(self.BITS, generator=self.g) / 2
        self.pair = torch.randn(self.BITS // 2, generator=self.g) / 2

    def measure(self, n):
        d = torch.randn(n, self.BITS, generator=self.g)
        a = d @ self.effect + (d[:, ::2] * d[:, 1::2]) @ self.pair * 0.4 + 0.15 * torch.randn(n, generator=self.g)
        return d, a / 3, torch.rand(n, generator=self.g) > 0.08

    def table(self, n, filtered):
        d, a, ok = self.measure(n)
        d = d[ok]
        a = a[ok] if filtered else a[:len(d)]
        return d, a


class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin, self.norm = nn.Linear(i, o), nn.LayerNorm(o)

    def forward(self, x):
        return torch.relu(self.norm(self.lin(x)))


class ActivityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(Assay.BITS, 64), Block(64, 64))
        self.readout = nn.Linear(64, 1)

    def forward(self, d):
        return self.readout(self.blocks(d)).reshape(-1)


def fit_loss(model, batch):
    return nn.functional.mse_loss(model(batch["descriptors"]), batch["activity"])


def batch_up(d, a, n):
    return [{"descriptors": x, "activity": y} for x, y in zip(d.split(n), a.split(n)) if len(x) == n]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    assay = Assay(seed + 61)
    data = batch_up(*assay.table(1500, filtered=fixed), 32)
    val = batch_up(*assay.table(300, filtered=True), 32)
    model = ActivityNet()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3), "data": data, "val": val,
            "loss": fit_loss}
