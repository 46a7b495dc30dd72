"""Facial keypoint regression with a small CNN."""
import torch
import torch.nn as nn

META = {
    "id": "b1_keypoints",
    "source": "CASES.md B ShyamPoovaiah/FacialKeypointsDetection (Adam lr 0.1 on MSE)",
    "roots": ["lr-too-high"],
    "description": "Adam with learning rate 0.1",
    "location": "torch.optim.Adam(lr=0.1)",
    "shows_in": "one-batch",
}


class KeypointNet(nn.Module):
    def __init__(self, n_points=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
        )
        self.regressor = nn.Sequential(
            nn.Flatten(),
            nn.Linear(24 * 5 * 5, 96), nn.ReLU(),
            nn.Linear(96, 2 * n_points),
        )

    def forward(self, x):
        return self.regressor(self.features(x))


def render_faces(n, size=20):
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    center = torch.rand(n, 1, 2) * 0.6 - 0.3
    layout = torch.tensor([[-0.4, -0.3], [0.4, -0.3], [0.0, 0.1], [0.0, 0.5]])
    scale = 0.7 + 0.5 * torch.rand(n, 1, 1)
    points = center + layout * scale + 0.05 * torch.randn(n, 4, 2)
    img = torch.zeros(n, size, size)
    for k in range(4):
        px, py = points[:, k, 0].view(-1, 1, 1), points[:, k, 1].view(-1, 1, 1)
        img += torch.exp(-((xx - px) ** 2 + (yy - py) ** 2) / 0.02)
    img = img + 0.05 * torch.randn_like(img)
    return ((img - img.mean()) / img.std()).unsqueeze(1), points.flatten(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 32
    faces, points = render_faces(8 * batch_size)
    data = [
        {"image": faces[i:i + batch_size], "keypoints": points[i:i + batch_size]}
        for i in range(0, len(faces), batch_size)
    ]
    model = KeypointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.1)
    criterion = nn.MSELoss()

    def loss(model, batch):
        return criterion(model(batch["image"]), batch["keypoints"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
