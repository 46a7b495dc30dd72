"""Crack segmentation: an encoder-decoder with a mask head."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_seg_sigmoid",
    "source": "own experience (sigmoid in the model, BCEWithLogitsLoss outside)",
    "roots": ["double-softmax"],
    "description": "forward returns sigmoid probabilities, BCEWithLogitsLoss applies the sigmoid again",
    "location": "CrackNet.forward, torch.sigmoid",
    "shows_in": "one-batch",
}


class CrackNet(nn.Module):
    def __init__(self, width=12, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.enc = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(3, width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GroupNorm(3, 2 * width), nn.ReLU(),
        )
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 2, stride=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        )
        self.mask = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        mask = self.mask(self.dec(self.enc(x)))
        return mask if self.fixed else torch.sigmoid(mask)


def make_data(n_batches=4, batch_size=8, size=20):
    axis = torch.arange(size).float()
    data = []
    for _ in range(n_batches):
        slope = torch.randn(batch_size, 1, 1) * 0.6
        offset = torch.rand(batch_size, 1, 1) * 8 + 6
        dist = (axis[None, :, None] - slope * (axis[None, None, :] - size / 2) - offset).abs()
        mask = (dist < 2.5).float()
        image = -mask + 0.25 * torch.randn(batch_size, size, size)
        data.append((image.unsqueeze(1), mask.unsqueeze(1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = CrackNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        image, mask = batch
        return criterion(model(image), mask)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
