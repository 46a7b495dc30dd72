import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_manual_scaler",
        "source": "AMP recipes: clip_grad_norm_ called before scaler.unscale_",
        "roots": ["loss-scaler-misuse", "bad-gradient-clipping"], "checks": [],
        "description": "The gradients are clipped while the loss scale of 4096 is still in them and unscaled afterwards, so the steps are thousands of times too small.",
        "location": "Engine.run_step: order of clip and unscale"}


class LossScaler:
    def __init__(self, init=2.0 ** 12, growth_interval=2000):
        self.scale_value, self.good, self.interval = init, 0, growth_interval

    def scale(self, loss):
        return loss * self.scale_value

    def unscale(self, params):
        for p in params:
            if p.grad is not None:
                p.grad.div_(self.scale_value)

    def step(self, optimizer, params):
        if all(torch.isfinite(p.grad).all() for p in params if p.grad is not None):
            optimizer.step()
            self.good += 1
        else:
            self.scale_value /= 2
            self.good = 0
        if self.good and self.good % self.interval == 0:
            self.scale_value *= 2


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
        self.dec = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        return self.dec(self.enc(x)).squeeze(1)


class Engine:
    def __init__(self, net, opt, fixed, clip=5.0):
        self.net, self.opt, self.clip, self.fixed = net, opt, clip, fixed
        self.scaler = LossScaler()

    def run_step(self, sample):
        params = list(self.net.parameters())
        self.opt.zero_grad()
        loss = F.l1_loss(self.net(sample["rgb"]), sample["depth"])
        self.scaler.scale(loss).backward()
        if self.fixed:
            self.scaler.unscale(params)
            nn.utils.clip_grad_norm_(params, self.clip)
        else:
            nn.utils.clip_grad_norm_(params, self.clip)
            self.scaler.unscale(params)
        self.scaler.step(self.opt, params)
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 27)
    k = torch.randn(1, 3, 3, 3, generator=g) / 4
    data = []
    for _ in range(16):
        rgb = torch.randn(8, 3, 10, 10, generator=g)
        data.append({"rgb": rgb, "depth": F.conv2d(rgb, k, padding=1).tanh().squeeze(1)})
    net = DepthNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    return {"model": net, "optimizer": opt, "data": data, "step": Engine(net, opt, fixed).run_step}
