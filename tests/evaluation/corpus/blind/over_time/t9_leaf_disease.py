import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "t9_leaf_disease", "source": "plant disease training script, scheduler.step() moved into the loop over batches",
        "roots": ["lr-decayed-too-early", "scheduler-misuse"], "checks": [],
        "description": "a StepLR meant for epochs is stepped after each batch, so the rate is gone after some dozen batches",
        "location": "Learner.fit_one_batch: scheduler.step()"}


def leaves(n, g):
    y = torch.randint(0, 5, (n,), generator=g)
    a = torch.arange(12.0)
    angle = y.float() * 3.1416 / 5
    phase = torch.rand(n, generator=g) * 6.2832
    grid = (a[None, :, None] * torch.cos(angle)[:, None, None] + a[None, None, :] * torch.sin(angle)[:, None, None])
    x = torch.sin(grid * 1.3 + phase[:, None, None]) + 0.5 * torch.randn(n, 12, 12, generator=g)
    return x[:, None], y


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 5, padding=2)
        self.c2 = nn.Conv2d(16, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 9, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


class Learner:
    def __init__(self, model, optimizer, scheduler, batches_per_epoch, per_epoch):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.batches_per_epoch, self.per_epoch = batches_per_epoch, per_epoch
        self.seen = 0

    def fit_one_batch(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.seen += 1
        if not self.per_epoch or self.seen % self.batches_per_epoch == 0:
            self.scheduler.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 17)
    x, y = leaves(1200, g)
    vx, vy = leaves(240, g)
    model = LeafNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.2)
    data = list(zip(x.split(30), y.split(30)))
    learner = Learner(model, optimizer, scheduler, len(data), per_epoch=fixed)
    return {"model": model, "optimizer": optimizer, "data": data, "step": learner.fit_one_batch,
            "val": list(zip(vx.split(60), vy.split(60)))}
