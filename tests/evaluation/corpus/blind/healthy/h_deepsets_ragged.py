"""Deep Sets on ragged lists of points."""
import torch
import torch.nn as nn

META = {
    "id": "h_deepsets_ragged",
    "description": 'A batch is a Python list of (set, value) pairs of different size; sets are summed by index_add.',
    "roots": [],
}


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, sets):
        owner = torch.cat([torch.full((len(s),), i) for i, s in enumerate(sets)])
        pooled = torch.zeros(len(sets), 48).index_add(0, owner, self.phi(torch.cat(sets)))
        return self.rho(pooled / 5).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        batch = []
        for _ in range(24):
            s = torch.randn(int(torch.randint(1, 9, ())), 2)
            batch.append((s, s[:, 0].max() + s[:, 1].mean()))
        data.append(batch)
    model = DeepSets()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        sets, values = zip(*batch)
        return nn.functional.smooth_l1_loss(model(sets), torch.stack(values))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
