"""Keypoint regression: a conv net draws a heatmap, its peak gives the place of a bright blob."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_keypoint",
    "source": "own experience (argmax instead of soft-argmax in pose repositories)",
    "roots": ["disconnected-graph"],
    "description": "coordinates are taken from the heatmap by argmax, which has no gradient: the conv layers never learn",
    "location": "KeypointNet.forward, heat.argmax",
    "shows_in": "one-batch",
}
SIZE = 16


class KeypointNet(nn.Module):
    def __init__(self, fixed=False):
        super().__init__()
        self.soft = fixed
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 2, 3, padding=1),
        )
        self.calib = nn.Linear(4, 4)

    def forward(self, x):
        heat = self.features(x).flatten(2)
        axis = torch.linspace(-1, 1, SIZE)
        ys, xs = torch.meshgrid(axis, axis, indexing="ij")
        grid = torch.stack([xs.flatten(), ys.flatten()], -1)
        if self.soft:
            coords = torch.softmax(heat, -1) @ grid
        else:
            coords = grid[heat.argmax(-1)]
        return self.calib(coords.flatten(1))


def make_data(n_batches=6, batch_size=24):
    axis = torch.linspace(-1, 1, SIZE)
    ys, xs = torch.meshgrid(axis, axis, indexing="ij")
    data = []
    for _ in range(n_batches):
        pos = torch.rand(batch_size, 2, 2) * 1.6 - 0.8
        d_a = (xs - pos[:, 0, 0, None, None]) ** 2 + (ys - pos[:, 0, 1, None, None]) ** 2
        d_b = (xs - pos[:, 1, 0, None, None]) ** 2 + (ys - pos[:, 1, 1, None, None]) ** 2
        img = torch.exp(-d_a / 0.03) - torch.exp(-d_b / 0.03) + 0.05 * torch.randn(batch_size, SIZE, SIZE)
        data.append((img.unsqueeze(1), pos.flatten(1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = KeypointNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        images, keypoints = batch
        return F.mse_loss(model(images), keypoints)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
