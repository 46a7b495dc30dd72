"""Survival prediction from passenger records."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_titanic_softmax",
    "source": "CASES.md B 31627380 / C 34886605",
    "roots": ["wrong-output-activation"],
    "description": "softmax over the single output unit: the prediction is 1 for everybody",
    "location": "SurvivalNet.forward: softmax on one unit",
    "shows_in": "one-batch",
}


class SurvivalNet(nn.Module):
    def __init__(self, n_in, fixed):
        super().__init__()
        self.fixed = fixed
        self.hidden = nn.Sequential(
            nn.Linear(n_in, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Linear(64, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(),
        )
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        z = self.out(self.hidden(x))
        if self.fixed:
            return torch.sigmoid(z).squeeze(1)
        return F.softmax(z, dim=-1).squeeze(1)


def passengers(g, n):
    pclass = torch.randint(1, 4, (n,), generator=g)
    female = (torch.rand(n, generator=g) < 0.4).float()
    age = 5 + 60 * torch.rand(n, generator=g)
    fare = torch.exp(4.2 - 0.8 * pclass.float() + 0.4 * torch.randn(n, generator=g))
    siblings = torch.randint(0, 4, (n,), generator=g).float()
    x = torch.stack([(age - 35) / 17, torch.log(fare) - 2.6, siblings - 1.5], dim=1)
    x = torch.cat([x, F.one_hot(pclass - 1, 3).float(), female[:, None]], dim=1)
    score = 2.5 * female - 1.0 * (pclass.float() - 2) - 1.2 * x[:, 0] - 0.8
    return x, (score > 0).float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 12)
    x, y = passengers(g, 320)
    data = [(x[i:i + 40], y[i:i + 40]) for i in range(0, 320, 40)]
    model = SurvivalNet(x.shape[1], fixed)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    criterion = nn.BCELoss()

    def loss(model, batch):
        xb, yb = batch
        return criterion(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
