import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_unet_lesions", "source": "medical segmentation repo", "roots": [], "checks": [],
        "description": "healthy small U-Net, focal + soft dice on rare foreground, deep supervision, polynomial rate decay, raw Hounsfield input",
        "location": ""}


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.01))


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.bottom = conv(1, c), conv(c, 2 * c), conv(2 * c, 2 * c)
        self.u2, self.u1 = conv(4 * c, c), conv(2 * c, c)
        self.out, self.aux = nn.Conv2d(c, 1, 1), nn.Conv2d(c, 1, 1)
        for m in (self.out, self.aux):
            nn.init.constant_(m.bias, -2.0)

    def forward(self, hu):
        x = (hu.clamp(-200, 300) - 50) / 100
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.bottom(F.max_pool2d(b, 2))
        u = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        v = self.u1(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
        return self.out(v), self.aux(u)


def focal(z, y, gamma=2.0, alpha=0.75):
    p = torch.sigmoid(z)
    pt = torch.where(y > 0, p, 1 - p)
    a = torch.where(y > 0, alpha, 1 - alpha)
    return (a * (1 - pt) ** gamma * F.binary_cross_entropy_with_logits(z, y, reduction="none")).mean()


def dice(z, y):
    p = torch.sigmoid(z).flatten(1)
    y = y.flatten(1)
    return 1 - ((2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)).mean()


def scans(n, g):
    rr = torch.arange(24).float()
    x = 40 + 15 * torch.randn(n, 1, 24, 24, generator=g)
    m = torch.zeros(n, 1, 24, 24)
    for k in range(n):
        for _ in range(int(torch.randint(1, 3, (), generator=g))):
            cy, cx, r = (torch.rand(3, generator=g) * torch.tensor([16, 16, 2.0]) + torch.tensor([4, 4, 1.5])).tolist()
            m[k, 0] = torch.maximum(m[k, 0], (((rr[:, None] - cy) ** 2 + (rr[None] - cx) ** 2) < r * r).float())
    x[:, :, :, 0:2] = -1000                                  # air at the border of every slice
    return x + 60 * m, m


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [dict(zip(("image", "mask"), scans(8, g))) for _ in range(12)]
    net = UNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.95, nesterov=True, weight_decay=3e-5)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, 1000, power=0.9)

    def step(b):
        main, aux = net(b["image"])
        small = F.max_pool2d(b["mask"], 2)
        loss = focal(main, b["mask"]) + dice(main, b["mask"]) + 0.4 * dice(aux, small)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 12)
        opt.step()
        sched.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
