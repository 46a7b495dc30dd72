"""Bike-sharing demand: tabular regression with categorical embeddings."""
import torch
import torch.nn as nn

META = {
    "id": "b5_bike_broadcast",
    "source": "CASES.md: TheDeepChecker 38447935 (model always produces the mean), taxonomy 47267612",
    "roots": ["target-shape-mismatch"],
    "description": "prediction (N, 1) against target (N,): MSE broadcasts to N x N and the net learns the mean",
    "location": "training_loss: pred not squeezed",
    "shows_in": "one-batch",
}


class TabularNet(nn.Module):
    def __init__(self, cardinalities, n_num):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, 6) for c in cardinalities])
        self.mlp = nn.Sequential(
            nn.Linear(6 * len(cardinalities) + n_num, 96), nn.ReLU(),
            nn.Linear(96, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [num], dim=1))


def rentals(n, seed):
    g = torch.Generator().manual_seed(seed)
    season = torch.randint(0, 4, (n,), generator=g)
    weekday = torch.randint(0, 7, (n,), generator=g)
    weather = torch.randint(0, 3, (n,), generator=g)
    temp, hum, wind = torch.randn(3, n, generator=g)
    demand = 1.2 * temp - 0.5 * hum - 0.3 * wind + 0.6 * (weekday >= 5).float() - 0.8 * weather + 0.5 * (season == 2)
    demand = (demand - demand.mean()) / demand.std()
    return torch.stack([season, weekday, weather], 1), torch.stack([temp, hum, wind], 1), demand


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cat, num, demand = rentals(8 * 32, seed)
    data = [{"cat": c, "num": n, "count": d} for c, n, d in zip(cat.split(32), num.split(32), demand.split(32))]
    model = TabularNet([4, 7, 3], 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mse = nn.MSELoss()

    def training_loss(model, batch):
        pred = model(batch["cat"], batch["num"])
        if fixed:
            pred = pred.squeeze(1)
        return mse(pred, batch["count"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": training_loss}
