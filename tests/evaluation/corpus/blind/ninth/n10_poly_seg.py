import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_poly_seg",
        "source": "poly schedules of DeepLab-like segmentation repos: max_iter counted in epochs, cur_iter in iterations",
        "roots": ["scheduler-misuse", "lr-too-high"], "checks": [],
        "description": "max_iter is the number of epochs while the counter runs over iterations; past it the squared poly factor grows again without limit and blows the training up.",
        "location": "PolyLR construction (max_iter)"}


class PolyLR:
    def __init__(self, optimizer, base_lr, max_iter, power=2):
        self.opt, self.base_lr, self.max_iter, self.power, self.cur_iter = optimizer, base_lr, max_iter, power, 0

    def step(self):
        self.cur_iter += 1
        lr = self.base_lr * (1 - self.cur_iter / self.max_iter) ** self.power
        for i, gr in enumerate(self.opt.param_groups):
            gr["lr"] = lr * (10 if i else 1)


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        return self.head(self.backbone(x))


class Runner:
    epochs = 25

    def __init__(self, seed, fixed):
        torch.manual_seed(seed)
        g = torch.Generator().manual_seed(seed + 2)
        self.loader = []
        for _ in range(40):
            img = torch.randn(12, 1, 12, 12, generator=g)
            smooth = F.avg_pool2d(img, 3, 1, 1)
            self.loader.append((img, (smooth[:, 0] > 0).long()))
        self.net = SegNet()
        base = 0.03
        self.opt = torch.optim.SGD([{"params": self.net.backbone.parameters(), "lr": base},
                                    {"params": self.net.head.parameters(), "lr": base * 10}], lr=base, momentum=0.9, weight_decay=1e-4)
        self.sched = PolyLR(self.opt, base, self.epochs * len(self.loader) if fixed else self.epochs)

    def train_iter(self, batch):
        img, lab = batch
        loss = F.cross_entropy(self.net(img), lab)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()
        return loss.detach()


def build(fixed=False, seed=0):
    r = Runner(seed, fixed)
    return {"model": r.net, "optimizer": r.opt, "data": r.loader, "step": r.train_iter}
