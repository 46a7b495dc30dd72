"""Facial-keypoint regression with a CNN and MSE."""
import torch
from torch import nn

META = {
    "id": "b5_keypoints_adam",
    "source": "CASES.md: DeepFD ShyamPoovaiah/FacialKeypointsDetection, defect4ML 24",
    "roots": ["lr-too-high"],
    "description": "Adam with a learning rate of 0.1 on a CNN regression",
    "location": "optimizer lr",
    "shows_in": "one-batch",
}


class KeypointNet(nn.Module):
    def __init__(self, n_points=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.regressor = nn.Sequential(
            nn.Flatten(),
            nn.Linear(24 * 5 * 5, 96), nn.ReLU(),
            nn.Linear(96, 48), nn.ReLU(),
            nn.Linear(48, 2 * n_points),
        )

    def forward(self, img):
        return self.regressor(self.features(img))


def faces(n, size, n_points, g):
    """Bright blobs of different brightness; their centres are the targets, in [-1, 1]."""
    pts = torch.rand(n, n_points, 2, generator=g) * 1.6 - 0.8
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    img = torch.zeros(n, size, size)
    for k in range(n_points):
        d2 = (xx - pts[:, k, 0, None, None]) ** 2 + (yy - pts[:, k, 1, None, None]) ** 2
        img += (k + 1) * torch.exp(-d2 / 0.03)
    img = (img - img.mean()) / img.std()
    return img.unsqueeze(1), pts.flatten(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    images, keypoints = faces(6 * 16, 20, 4, g)
    loader = [{"image": i, "keypoints": k} for i, k in zip(images.split(16), keypoints.split(16))]

    net = KeypointNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3 if fixed else 0.1)
    mse = nn.MSELoss()

    def loss(net, sample):
        return mse(net(sample["image"]), sample["keypoints"])

    return {"model": net, "optimizer": optimizer, "data": loader, "loss": loss}
