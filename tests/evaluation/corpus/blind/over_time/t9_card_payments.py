import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

META = {"id": "t9_card_payments", "source": "fraud detection forum question: accuracy 97 %, but no fraud is ever found",
        "roots": ["class-imbalance"], "checks": ["data_is_healthy"],
        "description": "three per cent of the payments are fraud, nothing balances them, and the model never predicts fraud",
        "location": "build: the sampler is not handed to the DataLoader"}


def payments(n, g):
    fraud = (torch.rand(n, generator=g) < 0.03).long()
    x = torch.randn(n, 12, generator=g)
    shift = torch.zeros(12)
    shift[:4] = torch.tensor([0.8, -0.7, 0.6, 0.6])
    x = x + fraud[:, None] * shift
    return x, fraud


class FraudNet(nn.Module):
    def __init__(self, n_in=12, hidden=32):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n_in, hidden), nn.Linear(hidden, hidden)])
        self.cls = nn.Linear(hidden, 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.leaky_relu(layer(x))
        return self.cls(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 3)
    x, y = payments(20000, g)
    vx, vy = payments(2560, g)
    counts = torch.bincount(y, minlength=2).float()
    weights = (1.0 / counts)[y]
    sampler = WeightedRandomSampler(weights.double(), 6400, generator=torch.Generator().manual_seed(seed))
    train_set = TensorDataset(x, y)
    if fixed:
        loader = DataLoader(train_set, batch_size=64, sampler=sampler)
    else:
        loader = DataLoader(train_set, batch_size=64, shuffle=True)
    model = FraudNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return {"model": model, "optimizer": optimizer, "data": loader, "val": list(zip(vx.split(64), vy.split(64))),
            "loss": lambda m, b: nn.functional.cross_entropy(m(b[0]), b[1])}
