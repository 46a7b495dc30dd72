"""Tabular regression with a per-epoch cosine schedule."""
import torch
import torch.nn as nn

META = {
    "id": "h_cosine_per_epoch",
    "description": 'The scheduler is stepped once per pass over the data, not per batch; categorical columns go through embeddings, one of which is 1-dimensional.',
    "roots": [],
}


class Tab(nn.Module):
    def __init__(self):
        super().__init__()
        self.city, self.flag = nn.Embedding(12, 6), nn.Embedding(2, 1)
        self.net = nn.Sequential(nn.Linear(6 + 1 + 5, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, city, flag, num):
        return self.net(torch.cat([self.city(city), self.flag(flag), num], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    price = 2 * torch.randn(12)
    data = []
    for _ in range(8):
        city, flag, num = torch.randint(0, 12, (32,)), torch.randint(0, 2, (32,)), torch.randn(32, 5)
        y = price[city] * (1 + 0.5 * flag) + num[:, 0] - num[:, 1] * num[:, 2]
        data.append({"city": city, "flag": flag, "num": num, "y": y})
    model = Tab()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40, eta_min=1e-4)

    def loss(model, b):
        return nn.functional.mse_loss(model(b["city"], b["flag"], b["num"]), b["y"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "scheduler": scheduler}
