"""Store-sales forecast: multi-horizon MLP-mixer, trained by a small trainer."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b5_sales_sum_sgd",
    "source": "CASES.md: TheDeepChecker 41954308 (works with reduce_mean, not with reduce_sum), 43611745, IPS_17",
    "roots": ["loss-reduction"],
    "description": "MSELoss(reduction='sum') over batch and horizon with an SGD rate tuned for the mean: diverges",
    "location": "Trainer.criterion",
    "shows_in": "one-batch",
}


class Mixer(nn.Module):
    def __init__(self, window, n_series, horizon, d=64):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(window, d), nn.ReLU(), nn.Linear(d, window))
        self.chan = nn.Sequential(nn.Linear(n_series, d), nn.ReLU(), nn.Linear(d, n_series))
        self.head = nn.Linear(window * n_series, horizon)

    def forward(self, x):
        x = x + self.time(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.chan(x)
        return self.head(x.flatten(1))


class Trainer:
    def __init__(self, model, reduction):
        self.model = model
        self.criterion = nn.MSELoss(reduction=reduction)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def fit_batch(self, batch):
        past, future = batch
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(past), future)
        loss.backward()
        self.optimizer.step()
        return loss


def sales(n, window, horizon, seed):
    g = torch.Generator().manual_seed(seed)
    t0 = torch.rand(n, 1, generator=g) * 100
    t = t0 + torch.arange(window + horizon)
    main = torch.sin(2 * math.pi * t / 7) + 0.5 * torch.cos(2 * math.pi * t / 30)
    price = torch.cos(2 * math.pi * t / 14)
    promo = torch.sin(2 * math.pi * t / 7 + 0.5)
    past = torch.stack([main, price, promo], -1)[:, :window]
    past = past + 0.05 * torch.randn(n, window, 3, generator=g)
    return past, main[:, window:]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    past, future = sales(8 * 32, 28, 7, seed)
    data = list(zip(past.split(32), future.split(32)))
    model = Mixer(28, 3, 7)
    trainer = Trainer(model, reduction="mean" if fixed else "sum")
    return {"model": model, "optimizer": trainer.optimizer, "data": data, "step": trainer.fit_batch}
