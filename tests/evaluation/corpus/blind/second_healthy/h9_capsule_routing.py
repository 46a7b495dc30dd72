import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_capsule_routing", "source": "CapsNet port", "roots": [], "checks": [],
        "description": "healthy capsule network: dynamic routing (3 iterations), margin loss plus small reconstruction", "location": ""}


def squash(s, dim=-1):
    n2 = (s ** 2).sum(dim, keepdim=True)
    return n2 / (1 + n2) * s / (n2 + 1e-8).sqrt()


class CapsNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 24, 5, 1, 2)
        self.primary = nn.Conv2d(24, 32, 5, 3)                       # 3x3 grid, 8 capsules of size 4
        self.W = nn.Parameter(torch.randn(1, 72, classes, 8, 4) * 0.3)
        self.dec = nn.Sequential(nn.Linear(classes * 8, 48), nn.ReLU(), nn.Linear(48, 144), nn.Sigmoid())

    def forward(self, x):
        p = self.primary(F.relu(self.conv(x)))
        u = squash(p.view(len(x), 8, 4, -1).permute(0, 1, 3, 2).reshape(len(x), -1, 4))
        hat = (self.W @ u[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(hat.shape[:3])
        for r in range(3):
            c = b.softmax(2)[..., None]
            v = squash((c * (hat if r == 2 else hat.detach())).sum(1))
            if r < 2:
                b = b + (hat.detach() * v[:, None]).sum(-1)
        return v


def shapes(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    x = 0.1 * torch.rand(n, 1, 12, 12, generator=g)
    for k in range(n):
        r, c = torch.randint(1, 5, (2,), generator=g).tolist()
        if y[k] == 0:
            x[k, 0, r:r + 6, c:c + 6] = 0.9
            x[k, 0, r + 1:r + 5, c + 1:c + 5] = 0.0
        elif y[k] == 1:
            x[k, 0, r + 2:r + 4, c:c + 6] = 0.9
            x[k, 0, r:r + 6, c + 2:c + 4] = 0.9
        else:
            x[k, 0, range(r, r + 6), range(c, c + 6)] = 0.9
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [shapes(24, g) for _ in range(12)]
    net = CapsNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.998)

    def step(batch):
        x, y = batch
        v = net(x)
        length = (v ** 2).sum(-1).add(1e-8).sqrt()
        t = F.one_hot(y, 3).float()
        margin = (t * F.relu(0.9 - length) ** 2 + 0.5 * (1 - t) * F.relu(length - 0.1) ** 2).sum(1).mean()
        rec = F.mse_loss(net.dec((v * t[..., None]).flatten(1)), x.flatten(1), reduction="sum") / len(x)
        loss = margin + 0.005 * rec
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.detach()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
