"""Joint steering + speed estimation with an own optimizer per task."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from itertools import chain

META = {"id": "b9_two_task_opts", "source": "multi-task repositories with one optimizer per task",
        "roots": ["duplicate-parameters"], "checks": [],
        "description": "the shared encoder is in the optimizers of both tasks, and both step on the same summed gradient",
        "location": "MultiTaskLearner.__init__"}


class SharedEncoder(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.stack = nn.Sequential(nn.Conv2d(1, ch, 3, 2, 1), nn.ELU(), nn.Conv2d(ch, ch * 2, 3, 2, 1), nn.ELU(), nn.Flatten())
        self.fc = nn.Linear(ch * 2 * 9, 48)

    def forward(self, x):
        return F.elu(self.fc(self.stack(x)))


def head():
    return nn.Sequential(nn.Linear(48, 32), nn.ELU(), nn.Linear(32, 1))


class MultiTaskLearner:
    def __init__(self, lr=0.02, fixed=False):
        self.encoder, self.steer, self.speed = SharedEncoder(), head(), head()
        self.net = nn.ModuleList([self.encoder, self.steer, self.speed])
        self.opt_steer = torch.optim.SGD(chain(self.encoder.parameters(), self.steer.parameters()), lr=lr, momentum=0.9)
        if fixed:
            speed_params = self.speed.parameters()
        else:
            speed_params = chain(self.encoder.parameters(), self.speed.parameters())
        self.opt_speed = torch.optim.SGD(speed_params, lr=lr, momentum=0.9)

    def losses(self, batch):
        img, angle, velocity = batch
        feat = self.encoder(img)
        return (F.mse_loss(self.steer(feat).squeeze(1), angle),
                F.mse_loss(self.speed(feat).squeeze(1), velocity))

    def update(self, batch):
        l1, l2 = self.losses(batch)
        self.opt_steer.zero_grad()
        self.opt_speed.zero_grad()
        (l1 + 0.5 * l2).backward()
        self.opt_steer.step()
        self.opt_speed.step()
        return (l1 + 0.5 * l2).detach()


def road_views(n, seed, size=12):
    g = torch.Generator().manual_seed(seed + 33)
    bend = torch.randn(n, generator=g).clamp(-2, 2)
    dash = 0.4 + 1.2 * torch.rand(n, generator=g)
    rows = torch.arange(size).float()
    cols = torch.arange(size).float()
    centre = size / 2 + bend[:, None] * ((rows / size) ** 2)[None] * 2.5
    lane = torch.exp(-(cols[None, None] - centre[:, :, None]) ** 2 / 2)
    marks = 0.6 + 0.4 * torch.sin(dash[:, None] * rows[None] * 2)
    img = lane * marks[:, :, None] + 0.05 * torch.randn(n, size, size, generator=g)
    img = (img - img.mean()) / img.std()
    return img.unsqueeze(1), bend, (dash - 1.0) * 2.5


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    learner = MultiTaskLearner(fixed=fixed)
    img, a, v = road_views(512, seed)
    return {"model": learner.net, "optimizer": [learner.opt_steer, learner.opt_speed],
            "data": list(zip(img.split(32), a.split(32), v.split(32))), "step": learner.update}
