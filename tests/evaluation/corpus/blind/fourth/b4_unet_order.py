"""Blob segmentation with a one-level U-Net."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_unet_order",
    "source": "own experience; forum pattern 'zero_grad between backward and step'",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad is called after backward and before the step",
    "location": "order of calls in train_one",
    "shows_in": "one-batch",
}


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        d = self.down(x)
        m = self.mid(F.max_pool2d(d, 2))
        return self.out(torch.cat([self.up(m), d], 1))


def blobs(n, size=16):
    axis = torch.arange(size).float()
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    c = torch.rand(n, 2, 1, 1) * (size - 6) + 3
    r = torch.rand(n, 1, 1) * 2 + 2
    mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < r ** 2).float()
    image = mask + 0.3 * torch.randn(n, size, size)
    return image[:, None], mask[:, None]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    image, mask = blobs(128)
    data = list(zip(image.split(16), mask.split(16)))
    net = MiniUNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)

    def train_one(batch):
        x, y = batch
        net.train()
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, y)
        if fixed:
            optimizer.zero_grad()
            loss.backward()
        else:
            loss.backward()
            optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return {"model": net, "optimizer": optimizer, "data": data, "step": train_one}
