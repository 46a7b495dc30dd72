"""Facial keypoint regression with a small CNN."""
import torch
import torch.nn as nn

META = {
    "id": "b4_keypoints",
    "source": "CASES.md ShyamPoovaiah/FacialKeypointsDetection (Adam lr 0.1 on MSE)",
    "roots": ["lr-too-high"],
    "description": "Adam with a learning rate of 0.1 on a CNN",
    "location": "optimizer lr",
    "shows_in": "one-batch",
}

KEYPOINTS = 3


class KeypointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.regressor = nn.Sequential(nn.Flatten(), nn.Linear(24 * 16, 96), nn.ReLU(), nn.Linear(96, 2 * KEYPOINTS))

    def forward(self, image):
        return self.regressor(self.features(image)).view(-1, KEYPOINTS, 2)


def render(points, size=16):
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    grid = torch.stack([xx, yy], -1)
    d2 = ((grid[None, None] - points[:, :, None, None]) ** 2).sum(-1)
    amp = torch.tensor([1.0, 2.0, -1.5]).view(1, KEYPOINTS, 1, 1)
    return (amp * torch.exp(-d2 / 0.05)).sum(1, keepdim=True)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    points = torch.rand(256, KEYPOINTS, 2) * 1.6 - 0.8
    images = render(points)
    data = list(zip(images.split(32), points.split(32)))
    model = KeypointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3 if fixed else 1e-1)
    criterion = nn.MSELoss()

    def loss(model, batch):
        image, target = batch
        return criterion(model(image), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
