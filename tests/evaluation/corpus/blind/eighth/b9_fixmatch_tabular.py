"""Consistency training with an unlabeled stream (FixMatch style) on sensor vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "b9_fixmatch_tabular", "source": "semi-supervised repositories (iter() of the unlabeled loader made once)",
        "roots": ["data-used-up"], "checks": [],
        "description": "the iterator of the unlabeled data is never made anew: once it has ended, the handler skips the whole update",
        "location": "SSLTrainer.next_unlabeled"}


class Encoder(nn.Module):
    def __init__(self, n_in=24, hidden=64, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.LayerNorm(hidden), nn.GELU(),
                                  nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.GELU())
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.body(x))


class SSLTrainer:
    def __init__(self, model, unlabeled_loader, lr, seed, tau=0.8, lam=0.5, fixed=False):
        self.model, self.loader, self.fixed = model, unlabeled_loader, fixed
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
        self.tau, self.lam = tau, lam
        self.it = iter(unlabeled_loader)
        self.rng = torch.Generator().manual_seed(seed + 1)
        self.last = torch.zeros(())

    def noise(self, x, s):
        return x + s * torch.randn(x.shape, generator=self.rng)

    def next_unlabeled(self):
        try:
            return next(self.it)[0]
        except StopIteration:
            if self.fixed:
                self.it = iter(self.loader)
                return next(self.it)[0]
            return None

    def train_step(self, batch):
        x, y = batch
        u = self.next_unlabeled()
        if u is None:
            with torch.no_grad():
                return F.cross_entropy(self.model(x), y)
        with torch.no_grad():
            prob = F.softmax(self.model(self.noise(u, 0.05)), dim=1)
            conf, pseudo = prob.max(1)
        sup = F.cross_entropy(self.model(x), y)
        uns = (F.cross_entropy(self.model(self.noise(u, 0.3)), pseudo, reduction="none") * (conf > self.tau).float()).mean()
        loss = sup + self.lam * uns
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def sensors(n, seed, classes=5, dim=24):
    g = torch.Generator().manual_seed(seed + 58)
    centers = torch.randn(classes, dim, generator=g) * 0.5
    y = torch.randint(0, classes, (n,), generator=g)
    x = centers[y] + torch.randn(n, dim, generator=g) * 0.7
    x[:, :4] += (y[:, None] % 2) * x[:, 4:8]
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = sensors(320 + 480, seed)
    labeled = list(zip(x[:320].split(32), y[:320].split(32)))
    unlabeled = DataLoader(TensorDataset(x[320:]), batch_size=32, shuffle=True,
                           generator=torch.Generator().manual_seed(seed))
    trainer = SSLTrainer(Encoder(), unlabeled, lr=0.02, seed=seed, fixed=fixed)
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": labeled, "step": trainer.train_step}
