import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

META = {"id": "b9_hand_keypoints", "source": "Kaggle facial/hand keypoint notebooks; forum threads on augmentation of targets",
        "roots": ["labels-not-aligned", "label-noise"], "checks": [],
        "description": "images are flipped horizontally at random, the x coordinates of their keypoints are not",
        "location": "KeypointDataset.__getitem__"}

SIZE = 16


def render(points, size=SIZE):
    ys, xs = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    img = torch.zeros(3, size, size)
    for k, (x, y) in enumerate(points):
        img[k] += torch.exp(-((xs - x) ** 2 + (ys - y) ** 2) / 4.0)
    return img


class KeypointDataset(Dataset):
    """Images with three landmarks (wrist, thumb, index); coordinates in [-1, 1]."""

    def __init__(self, n, seed, fixed):
        g = torch.Generator().manual_seed(seed + 5)
        self.fixed = fixed
        self.images, self.points = [], []
        for _ in range(n):
            pts = torch.rand(3, 2, generator=g) * (SIZE - 7) + 3
            pts[0, 0] = 3 + pts[0, 0] * 0.5
            img = render(pts) + 0.05 * torch.randn(3, SIZE, SIZE, generator=g)
            self.images.append(img)
            self.points.append(pts / (SIZE - 1) * 2 - 1)
        self.rng = torch.Generator().manual_seed(seed + 6)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img, pts = self.images[i], self.points[i].clone()
        if torch.rand(1, generator=self.rng).item() < 0.5:
            img = torch.flip(img, dims=[2])
            if self.fixed:
                pts[:, 0] = -pts[:, 0]
        return {"image": img, "landmarks": pts.flatten()}


class KeypointNet(nn.Module):
    def __init__(self, n_points=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.regressor = nn.Sequential(nn.Flatten(), nn.Linear(32 * 16, 96), nn.ReLU(inplace=True),
                                       nn.Linear(96, n_points * 2))

    def forward(self, x):
        return self.regressor(self.features(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ds = KeypointDataset(384, seed, fixed)
    loader = DataLoader(ds, batch_size=32, shuffle=True, drop_last=True,
                        generator=torch.Generator().manual_seed(seed))
    net = KeypointNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)

    def train_step(sample):
        net.train()
        opt.zero_grad()
        pred = net(sample["image"])
        loss = F.smooth_l1_loss(pred, sample["landmarks"])
        loss.backward()
        opt.step()
        return loss.detach()

    return {"model": net, "optimizer": opt, "data": loader, "step": train_step}
