"""Length-of-stay regression from laboratory values with gaps."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b4_clinic_gaps",
    "source": "CASES.md 51835124 / nans-in-input-data-breaking-gradients/58504",
    "roots": ["nan-in-data"],
    "description": "missing laboratory values stay NaN in some batches",
    "location": "labs of the later batches",
    "shows_in": "nan",
}


class StayNet(nn.Module):
    def __init__(self, labs=12, wards=6):
        super().__init__()
        self.ward = nn.Embedding(wards, 4)
        self.net = nn.Sequential(
            nn.Linear(labs + 4, 64), nn.SiLU(),
            nn.Linear(64, 64), nn.SiLU(),
            nn.Linear(64, 1),
        )

    def forward(self, labs, ward):
        return self.net(torch.cat([labs, self.ward(ward)], 1))[:, 0]


def admissions(rng, n):
    labs = rng.normal(size=(n, 12))
    ward = rng.integers(0, 6, n)
    stay = labs[:, 0] - 0.7 * labs[:, 3] * labs[:, 4] + 0.4 * ward - 1.0
    gaps = rng.choice(np.arange(150, n), size=7, replace=False)
    labs[gaps, rng.integers(5, 12, 7)] = np.nan
    return labs, ward, stay


def impute(labs):
    median = np.nanmedian(labs, axis=0)
    return np.where(np.isnan(labs), median, labs)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    labs, ward, stay = admissions(rng, 384)
    if fixed:
        labs = impute(labs)
    labs, stay = torch.tensor(labs, dtype=torch.float32), torch.tensor(stay, dtype=torch.float32)
    ward = torch.tensor(ward)
    data = []
    for i in range(0, 384, 48):
        data.append({"labs": labs[i:i + 48], "ward": ward[i:i + 48], "stay": stay[i:i + 48]})
    model = StayNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["labs"], batch["ward"]), batch["stay"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
