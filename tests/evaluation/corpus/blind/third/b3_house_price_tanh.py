"""House prices from tabular features with categorical embeddings, price in units of 10 000."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_house_price_tanh",
    "source": "CASES.md B yetanotherdeveloper/kaggle-melbourne_properties",
    "roots": ["wrong-output-activation"],
    "description": "tanh after the last layer while prices run from 3 to 30",
    "location": "PriceNet.forward: torch.tanh",
    "shows_in": "one-batch",
}


class PriceNet(nn.Module):
    def __init__(self, fixed, n_suburbs=15, n_types=4):
        super().__init__()
        self.fixed = fixed
        self.suburb = nn.Embedding(n_suburbs, 6)
        self.kind = nn.Embedding(n_types, 3)
        self.fc1 = nn.Linear(6 + 3 + 7, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, suburb, kind, numeric):
        x = torch.cat([self.suburb(suburb), self.kind(kind), numeric], dim=1)
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        x = self.fc3(x)
        if not self.fixed:
            x = torch.tanh(x)
        return x.squeeze(1)


def make_data(g, n_batches=8, batch=40):
    suburb_value = 2.0 * torch.randn(15, generator=g)
    kind_value = torch.tensor([3.0, 1.0, 0.0, -1.5])
    w = torch.randn(7, generator=g)
    data = []
    for _ in range(n_batches):
        s = torch.randint(0, 15, (batch,), generator=g)
        k = torch.randint(0, 4, (batch,), generator=g)
        x = torch.randn(batch, 7, generator=g)
        price = 12 + suburb_value[s] + kind_value[k] + x @ w + 0.3 * x[:, 0] * x[:, 1]
        data.append((s, k, x, price.clamp(min=3.0)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 40)
    data = make_data(g)
    model = PriceNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        s, k, x, price = batch
        return F.mse_loss(model(s, k, x), price)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
