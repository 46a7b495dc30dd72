"""Portrait matting: binary masks read from 8-bit images."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_mask255",
    "source": "uber/ludwig #107, stackoverflow 40179209 (wrong pixel encoding)",
    "roots": ["invalid-labels"],
    "description": "the masks keep their 8-bit values 0 and 255 instead of 0 and 1: binary cross-entropy becomes negative without bound",
    "location": "load_mask",
    "shows_in": "one-batch",
}


class MatteNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.norm1 = nn.GroupNorm(3, width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=2, dilation=2)
        self.norm2 = nn.GroupNorm(3, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        return self.out(x)


def load_mask(pixels, fixed):
    mask = pixels.float()
    return mask / 255.0 if fixed else mask


def make_data(fixed, n_batches=4, batch_size=8, size=18):
    axis = torch.arange(size).float()
    data = []
    for _ in range(n_batches):
        cx, cy = torch.rand(2, batch_size, 1, 1) * 8 + 5
        inside = ((axis[None, :, None] - cy) / 6) ** 2 + ((axis[None, None, :] - cx) / 4) ** 2 < 1
        pixels = inside.to(torch.uint8).unsqueeze(1) * 255
        skin = torch.tensor([0.9, 0.5, 0.1]).view(1, 3, 1, 1)
        image = inside.float().unsqueeze(1) * skin + 0.15 * torch.randn(batch_size, 3, size, size)
        data.append((image, load_mask(pixels, fixed)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data(fixed)
    model = MatteNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        image, mask = batch
        return F.binary_cross_entropy_with_logits(model(image), mask)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
