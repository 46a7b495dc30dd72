"""House-price regression (price in units of 100k) with a small MLP."""
import torch
from torch import nn

META = {
    "id": "b5_house_tanh",
    "source": "CASES.md: DeepFD yetanotherdeveloper/kaggle-melbourne_properties",
    "roots": ["wrong-output-activation"],
    "description": "a tanh on the output of a regression whose targets lie between 2 and 12",
    "location": "PriceNet.act_out",
    "shows_in": "one-batch",
}


class PriceNet(nn.Module):
    def __init__(self, n_features, hidden=128, out_act=None):
        super().__init__()
        self.fc1 = nn.Linear(n_features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)
        self.act = nn.Tanh()
        self.act_out = out_act or nn.Identity()

    def forward(self, x):
        x = self.act(self.fc1(x))
        x = self.act(self.fc2(x))
        return self.act_out(self.fc3(x)).squeeze(-1)


def melbourne(n, g):
    rooms = torch.randint(1, 6, (n,), generator=g).float()
    dist = torch.rand(n, generator=g) * 30
    land = torch.rand(n, generator=g) * 900 + 100
    age = torch.rand(n, generator=g) * 100
    baths = (rooms * 0.5 + torch.rand(n, generator=g)).round()
    price = 2.5 + 1.3 * rooms + 0.002 * land - 0.08 * dist + 0.6 * baths - 0.01 * age
    price = price * (1 + 0.15 * torch.sin(dist / 5))
    x = torch.stack([rooms, dist, land, age, baths], 1)
    x = (x - x.mean(0)) / x.std(0)
    return x, price


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, price = melbourne(8 * 32, g)
    data = list(zip(x.split(32), price.split(32)))

    model = PriceNet(x.size(1), out_act=None if fixed else nn.Tanh())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        features, target = batch
        return nn.functional.mse_loss(model(features), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
