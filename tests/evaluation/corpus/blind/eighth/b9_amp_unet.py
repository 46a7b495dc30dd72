import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_amp_unet", "source": "AMP training scripts: clip_grad_norm_ before scaler.unscale_",
        "roots": ["bad-gradient-clipping", "loss-scaler-misuse"], "checks": [],
        "description": "gradients are clipped while the scale is still in them; what is left after unscaling is a 65536th of the norm wanted",
        "location": "Runner.train_iter"}


class LossScaler:
    """Static loss scaling (kept after the port from apex)."""

    def __init__(self, scale=2.0 ** 16):
        self._scale = scale

    def scale(self, loss):
        return loss * self._scale

    @torch.no_grad()
    def unscale_(self, optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(self._scale)


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, ch=8, classes=3):
        super().__init__()
        self.d1, self.d2 = double_conv(1, ch), double_conv(ch, ch * 2)
        self.up = nn.ConvTranspose2d(ch * 2, ch, 2, 2)
        self.u1 = double_conv(ch * 2, ch)
        self.out = nn.Conv2d(ch, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        return self.out(self.u1(torch.cat([a, self.up(b)], 1)))


class Runner:
    def __init__(self, net, cfg, fixed):
        self.net, self.cfg, self.fixed = net, cfg, fixed
        self.optimizer = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=0.9, nesterov=True)
        self.scaler = LossScaler()

    def clip(self):
        return nn.utils.clip_grad_norm_(self.net.parameters(), self.cfg["max_norm"])

    def train_iter(self, batch):
        self.net.train()
        image, mask = batch["image"], batch["mask"]
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(image), mask)
        self.scaler.scale(loss).backward()
        if self.fixed:
            self.scaler.unscale_(self.optimizer)
            self.clip()
        else:
            self.clip()
            self.scaler.unscale_(self.optimizer)
        self.optimizer.step()
        return loss.item()


def organs(n, seed, size=16):
    g = torch.Generator().manual_seed(seed + 6)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    c = torch.rand(n, 2, 2, generator=g) * (size - 6) + 3
    r = torch.rand(n, 2, generator=g) * 2 + 2.5
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for k in range(2):
        inside = (yy - c[:, k, 0, None, None]) ** 2 + (xx - c[:, k, 1, None, None]) ** 2 < (r[:, k] ** 2)[:, None, None]
        mask[inside] = k + 1
    img = torch.tensor([0.0, 1.0, -1.0])[mask] + 0.35 * torch.randn(n, size, size, generator=g)
    return img.unsqueeze(1), mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, mask = organs(256, seed)
    data = [{"image": img[i:i + 16], "mask": mask[i:i + 16]} for i in range(0, 256, 16)]
    runner = Runner(UNet(), {"lr": 0.05, "max_norm": 1.0}, fixed)
    return {"model": runner.net, "optimizer": runner.optimizer, "data": data, "step": runner.train_iter}
