"""Blob segmentation with a tiny U-Net and SGD."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_unet_momentum",
    "source": "own experience; CASES.md H 'unstable' (momentum among the repairs)",
    "roots": ["bad-momentum"],
    "description": "momentum 0.9995 instead of 0.9: the velocity adds up over thousands of steps",
    "location": "optimizer: momentum=0.9995",
    "shows_in": "one-batch",
}


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1 = block(1, width)
        self.down2 = block(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge = block(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.out(self.merge(torch.cat([a, self.up(b)], dim=1)))


def blobs(g, n_batches=6, batch=8, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    data = []
    for _ in range(n_batches):
        c = torch.randint(3, size - 3, (batch, 2, 1, 1), generator=g)
        r = torch.randint(2, 5, (batch, 1, 1), generator=g)
        mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 <= r ** 2).float().unsqueeze(1)
        data.append((2 * mask - 0.5 + 0.3 * torch.randn(mask.shape, generator=g), mask))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 49)
    data = blobs(g)
    model = TinyUNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if fixed else 0.9995)

    def step(batch):
        x, mask = batch
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), mask)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
