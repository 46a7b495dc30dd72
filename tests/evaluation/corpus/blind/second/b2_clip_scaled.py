"""Segmentation with SGD, GradScaler and gradient clipping, after a popular U-Net repository."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_clip_scaled",
    "source": "milesial/Pytorch-UNet #468, Lightning #9599",
    "roots": ["bad-gradient-clipping"],
    "description": "gradients are clipped to 1.0 while still multiplied by the loss scale, so after unscaling nearly nothing is left",
    "location": "clip_grad_norm_ before scaler.unscale_",
    "shows_in": "one-batch",
}


class SegNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.out(torch.cat([self.up(b), a], 1))


def make_data(n_batches=4, batch_size=8, size=20):
    axis = torch.arange(size)
    data = []
    for _ in range(n_batches):
        x0, y0 = torch.randint(1, 9, (2, batch_size, 1, 1))
        w, h = torch.randint(6, 11, (2, batch_size, 1, 1))
        col, row = axis[None, None, :], axis[None, :, None]
        mask = ((col >= x0) & (col < x0 + w) & (row >= y0) & (row < y0 + h)).long()
        image = mask.float() + 0.25 * torch.randn(batch_size, size, size)
        data.append({"image": image.unsqueeze(1), "mask": mask})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SegNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    grad_scaler = torch.amp.GradScaler("cpu")

    def step(batch):
        loss = F.cross_entropy(model(batch["image"]), batch["mask"])
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        if fixed:
            grad_scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
