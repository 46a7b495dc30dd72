"""Click-through-rate model (two-tower recommender) with ReduceLROnPlateau."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_plateau_mode",
    "source": "own experience; mode='max' kept from an accuracy metric while the loss is passed to scheduler.step",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "ReduceLROnPlateau(mode='max') watches the loss: every improvement counts as a bad step and the rate is cut again and again",
    "location": "Fit.scheduler (mode='max')",
    "shows_in": "full-data",
}


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, d=32):
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(n_users, d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.item = nn.Sequential(nn.Embedding(n_items, d), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(-1) + self.bias


class Fit:
    def __init__(self, model, mode):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, mode=mode, factor=0.3, patience=8)

    def __call__(self, batch):
        self.optimizer.zero_grad()
        logit = self.model(batch["user"], batch["item"])
        loss = F.binary_cross_entropy_with_logits(logit, batch["click"])
        loss.backward()
        self.optimizer.step()
        self.running = 0.9 * getattr(self, "running", loss.item()) + 0.1 * loss.item()
        self.scheduler.step(self.running)
        return loss


def impressions(n, n_users, n_items, g):
    u_taste = torch.randint(0, 4, (n_users,), generator=torch.Generator().manual_seed(1))
    i_genre = torch.randint(0, 4, (n_items,), generator=torch.Generator().manual_seed(2))
    user = torch.randint(0, n_users, (n,), generator=g)
    item = torch.randint(0, n_items, (n,), generator=g)
    match = (u_taste[user] - i_genre[item]) % 4 < 2
    return user, item, match.float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    user, item, click = impressions(10 * 64, 60, 80, g)
    data = [{"user": u, "item": i, "click": c} for u, i, c in zip(user.split(64), item.split(64), click.split(64))]
    model = TwoTower(60, 80)
    fit = Fit(model, mode="min" if fixed else "max")
    return {"model": model, "optimizer": fit.optimizer, "data": data, "step": fit}
