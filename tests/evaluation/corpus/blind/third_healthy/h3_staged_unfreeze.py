import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_staged_unfreeze", "source": "healthy; ULMFiT-like gradual unfreezing",
        "roots": [], "checks": [], "description": "head first, then deeper groups join after 15 and 30 steps with smaller rates", "location": ""}


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, 3)

    def forward(self, x):
        return self.head(self.layer2(self.layer1(x)))


class GradualUnfreezing:
    """Callback: groups are listed from the head down."""

    def __init__(self, opt, schedule):
        self.opt, self.schedule = opt, schedule
        self.t = 0

    def on_step_begin(self):
        for start, module, lr in self.schedule:
            if self.t == start:
                module.requires_grad_(True)
                self.opt.add_param_group({"params": list(module.parameters()), "lr": lr})
        self.t += 1


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 44)
    x = torch.randn(32 * 26, 12, generator=g)
    s = x[:, 0] * x[:, 1] + x[:, 2]
    y = (s > 0.4).long() + (s > -0.4).long()
    net = Tower()
    net.layer1.requires_grad_(False)
    net.layer2.requires_grad_(False)
    opt = torch.optim.Adam(net.head.parameters(), lr=5e-3)
    cb = GradualUnfreezing(opt, [(15, net.layer2, 4e-3), (30, net.layer1, 4e-3)])

    def step(batch):
        cb.on_step_begin()
        x, y = batch
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
