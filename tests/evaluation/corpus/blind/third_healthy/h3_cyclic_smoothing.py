import torch
from torch import nn

META = {"id": "h3_cyclic_smoothing", "source": "healthy; image classifier recipe with per-batch cyclic rate and label smoothing",
        "roots": [], "checks": [], "description": "triangular cyclic rate stepped per batch, label smoothing gives the loss a floor near 0.35", "location": ""}


class SmallResNet(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                                   nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16))
        self.fc = nn.Linear(16 * 4, k)

    def forward(self, x):
        h = self.stem(x)
        h = torch.relu(h + self.block(h))
        return self.fc(nn.functional.adaptive_avg_pool2d(h, 2).flatten(1))


def textures(n, g, s=8):
    y = torch.randint(0, 4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(s).float(), torch.arange(s).float(), indexing="ij")
    ph = torch.rand(n, 1, 1, generator=g) * 6.28
    waves = torch.stack([xx, yy, xx + yy, xx - yy])[y]
    img = torch.sin(1.6 * waves + ph)[:, None] * torch.rand(n, 3, 1, 1, generator=g).add(0.5)
    return img + 0.5 * torch.randn(n, 3, s, s, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = textures(32 * 30, torch.Generator().manual_seed(seed + 35))
    b = list(zip(x.split(32), y.split(32)))
    net = SmallResNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.02, max_lr=0.1, step_size_up=24, mode="triangular2")
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)

    def step(batch):
        opt.zero_grad()
        loss = crit(net(batch[0]), batch[1])
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": b[:24], "val": b[24:], "step": step}
