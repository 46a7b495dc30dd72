"""Little U-Net that cuts blobs out of noisy scans."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_unet_dec",
    "source": "own experience (copy and paste in forward: the same decoder block is called twice)",
    "roots": ["unused-parameters"],
    "description": "forward calls dec2 at both decoder levels; dec1 is made, sits in the optimizer and never runs",
    "location": "dec1",
    "shows_in": "wiring",
}


def conv_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(),
        nn.Conv2d(c_out, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self, width=12, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.enc1 = conv_block(1, width)
        self.enc2 = conv_block(width, width)
        self.mid = conv_block(width, width)
        self.dec2 = conv_block(2 * width, width)
        self.dec1 = conv_block(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        m = self.mid(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([F.interpolate(m, scale_factor=2), e2], 1))
        up = torch.cat([F.interpolate(d2, scale_factor=2), e1], 1)
        d1 = self.dec1(up) if self.fixed else self.dec2(up)
        return self.out(d1)


def make_data(n_batches=4, batch_size=8, size=20):
    axis = torch.arange(size).float()
    data = []
    for _ in range(n_batches):
        cx, cy = torch.rand(2, batch_size, 1, 1) * 10 + 5
        r = torch.rand(batch_size, 1, 1) * 3 + 3
        mask = ((axis[None, :, None] - cy) ** 2 + (axis[None, None, :] - cx) ** 2 < r ** 2).float()
        image = mask * 1.0 + 0.4 * torch.randn(batch_size, size, size)
        data.append((image.unsqueeze(1), mask.unsqueeze(1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = UNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        image, mask = batch
        return F.binary_cross_entropy_with_logits(model(image), mask)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
