import torch
import torch.nn as nn

META = {"id": "v10_card_fraud_mlp",
        "source": "credit-card fraud notebooks (Kaggle ULB data): 99.4 % accuracy, not one fraud found",
        "roots": ["class-imbalance"],
        "checks": [],
        "description": "0.6 % of the training transactions are fraud and the loss is not weighted, so the model never predicts fraud on the curated evaluation set.",
        "location": "build: legitimate transactions are not undersampled"}

DIM = 12


def transactions(n_legit, n_fraud, g):
    legit = torch.randn(n_legit, DIM, generator=g)
    fraud = torch.randn(n_fraud, DIM, generator=g)
    sign = torch.where(torch.rand(n_fraud, generator=g) < 0.5, 1.0, -1.0)
    fraud[:, 0] += 1.5
    fraud[:, 3] += 1.4 * sign
    fraud[:, 5] += 1.4 * sign
    x = torch.cat([legit, fraud])
    y = torch.cat([torch.zeros(n_legit), torch.ones(n_fraud)])
    p = torch.randperm(len(x), generator=g)
    return x[p], y[p]


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.logit = nn.Linear(16, 1)

    def forward(self, x):
        return self.logit(self.encoder(x)).flatten()


def loader(x, y, size):
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 2)
    val = transactions(200, 100, g)
    train = transactions(1000, 500, g) if fixed else transactions(1988, 12, g)
    model = FraudNet()
    bce = nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)

    def recall():
        with torch.no_grad():
            return float((model(val[0][val[1] == 1]) > 0).float().mean())

    return {"model": model, "optimizer": opt, "data": loader(*train, 32), "val": loader(*val, 60),
            "loss": lambda m, b: bce(m(b[0]), b[1]), "evaluate": lambda batches=None: recall()}
