import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_sam_resnet", "source": "sharpness-aware training repo", "roots": [], "checks": [],
        "description": "healthy SAM (two passes, batch-norm statistics only from the first), small residual net, label smoothing", "location": ""}


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)

    @torch.no_grad()
    def ascend(self):
        ps = [p for gr in self.param_groups for p in gr["params"] if p.grad is not None]
        norm = torch.stack([p.grad.norm() for p in ps]).norm()
        for gr in self.param_groups:
            for p in gr["params"]:
                if p.grad is not None:
                    self.state[p]["e"] = p.grad * (gr["rho"] / (norm + 1e-12))
                    p.add_(self.state[p]["e"])

    @torch.no_grad()
    def step(self, closure=None):
        for gr in self.param_groups:
            for p in gr["params"]:
                if "e" in self.state[p]:
                    p.sub_(self.state[p].pop("e"))
        self.base.step()


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))


def set_momentum(net, on):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 0.1 if on else 0.0


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    k = torch.randn(4, 3, 5, 5, generator=g)
    y = torch.randint(0, 4, (320,), generator=g)
    x = torch.rand(320, 1, 8, 8, generator=g).gt(0.9).float()
    x = torch.stack([F.conv2d(x[i:i + 1], k[y[i]][:, None], padding=2)[0] for i in range(320)])
    x = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Res(16), nn.MaxPool2d(2), Res(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(16, 4))
    opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.05, momentum=0.9, weight_decay=5e-4)

    def step(batch):
        xb, yb = batch
        net.train()
        set_momentum(net, True)
        loss = F.cross_entropy(net(xb), yb, label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.ascend()
        set_momentum(net, False)
        opt.zero_grad()
        F.cross_entropy(net(xb), yb, label_smoothing=0.05).backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
