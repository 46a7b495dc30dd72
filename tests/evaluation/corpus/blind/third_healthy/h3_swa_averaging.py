import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR

META = {"id": "h3_swa_averaging", "source": "healthy; stochastic weight averaging recipe",
        "roots": [], "checks": [], "description": "SWA starts after 80 steps with its own constant rate; validation split in val", "location": ""}


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
        self.avg = AveragedModel(net)
        self.avg.requires_grad_(False)
        self.swa_sched = SWALR(self.opt, swa_lr=0.04, anneal_epochs=10)
        self.it, self.start, self.every = 0, 80, 5

    def step(self, batch):
        self.net.train()
        x, y = batch
        self.opt.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        self.it += 1
        if self.it >= self.start and self.it % self.every == 0:
            self.avg.update_parameters(self.net)
            self.swa_sched.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, val):
        m = self.avg.module if self.it > self.start else self.net
        was = m.training
        m.eval()
        n = sum(len(y) for _, y in val)
        err = sum(F.cross_entropy(m(x), y, reduction="sum").item() for x, y in val) / n
        m.train(was)
        return err


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 7)
    x = torch.randn(32 * 40, 8, generator=g)
    y = ((x[:, :2] ** 2).sum(1) > 1.4).long() + 2 * (x[:, 2] + 0.5 * x[:, 3] > 0).long()
    b = list(zip(x.split(32), y.split(32)))
    net = nn.Sequential(nn.Linear(8, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 4))
    t = Trainer(net)
    return {"model": net, "optimizer": t.opt, "data": b[:32], "val": b[32:], "step": t.step, "evaluate": t.evaluate}
