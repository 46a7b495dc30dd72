"""Landmark position regression from an image embedding."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_embedding_numpy_norm",
    "source": "own experience; CASES.md: TheDeepChecker 41780344 (gradient is None) is related",
    "roots": ["disconnected-graph"],
    "description": "the embedding is normalised with numpy inside forward, which cuts the graph: the encoder never gets a gradient",
    "location": "LandmarkNet.normalize (detach().numpy())",
    "shows_in": "one-batch",
}


class LandmarkNet(nn.Module):
    def __init__(self, d=8, use_torch=False):
        super().__init__()
        self.use_torch = use_torch
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(24 * 16, d),
        )
        self.regressor = nn.Linear(d, 2)

    def normalize(self, z):
        if self.use_torch:
            return z / z.norm(dim=1, keepdim=True) * z.size(1) ** 0.5
        arr = z.detach().cpu().numpy()
        arr = arr / np.linalg.norm(arr, axis=1, keepdims=True) * arr.shape[1] ** 0.5
        return torch.from_numpy(arr)

    def forward(self, img):
        z = self.encoder(img)
        return self.regressor(self.normalize(z))


def landmarks(n, g):
    pos = torch.rand(n, 2, generator=g) * 1.6 - 0.8
    axis = torch.linspace(-1, 1, 16)
    d2 = (axis.view(1, 1, -1) - pos[:, 0].view(-1, 1, 1)) ** 2 + (axis.view(1, -1, 1) - pos[:, 1].view(-1, 1, 1)) ** 2
    img = torch.exp(-d2 / 0.1) + 0.05 * torch.randn(n, 16, 16, generator=g)
    return ((img - img.mean()) / img.std()).unsqueeze(1), pos


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    img, pos = landmarks(8 * 32, g)
    data = list(zip(img.split(32), pos.split(32)))
    model = LandmarkNet(use_torch=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, target = batch
        return nn.functional.smooth_l1_loss(model(x), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
