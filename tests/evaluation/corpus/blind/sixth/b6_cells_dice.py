"""Binary segmentation of round cells with a tiny encoder-decoder and a soft Dice loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b6_cells_dice",
    "source": "soft-Dice implementations that flatten the whole batch (segmentation losses of many Kaggle kernels)",
    "roots": ["loss-reduction", "batch-mixing", "accumulation-not-scaled"],
    "checks": ["accumulates_exactly"],
    "description": "Dice is one ratio over all pixels of a micro-batch, which does not average over micro-batches and lets large cells drown small ones.",
    "location": "dice_loss: p.reshape(-1), t.reshape(-1)",
}


class SegNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.e1 = nn.Conv2d(1, c, 3, padding=1)
        self.e2 = nn.Conv2d(c, 2 * c, 3, padding=1)
        self.gn = nn.GroupNorm(4, 2 * c)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        a = F.relu(self.e1(x))
        b = F.relu(self.gn(self.e2(F.max_pool2d(a, 2))))
        return self.out(torch.cat([a, F.relu(self.up(b))], dim=1))


def dice_loss(logits, t, per_image, eps=1.0):
    p = torch.sigmoid(logits)
    if per_image:
        p, t = p.flatten(1), t.flatten(1)
        inter = (p * t).sum(1)
        return (1 - (2 * inter + eps) / (p.sum(1) + t.sum(1) + eps)).mean()
    p, t = p.reshape(-1), t.reshape(-1)
    inter = (p * t).sum()
    return 1 - (2 * inter + eps) / (p.sum() + t.sum() + eps)


def cells(n, gen):
    g = torch.arange(16).float()
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    cy = 3 + 10 * torch.rand(n, 1, 1, generator=gen)
    cx = 3 + 10 * torch.rand(n, 1, 1, generator=gen)
    r = 1.5 + 5 * torch.rand(n, 1, 1, generator=gen) ** 2
    mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < r ** 2).float().unsqueeze(1)
    img = 0.8 * mask + 0.25 * torch.randn(n, 1, 16, 16, generator=gen)
    return img, mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 5)
    data = [cells(16, gen) for _ in range(8)]
    model = SegNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss_fn(net, batch):
        image, mask = batch
        return dice_loss(net(image), mask, per_image=fixed)

    def step(batch):
        images, masks = batch
        optimizer.zero_grad()
        parts = list(zip(images.split(4), masks.split(4)))
        total = 0.0
        for part in parts:
            loss = loss_fn(model, part) / len(parts)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return torch.tensor(total)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step, "loss": loss_fn}
