"""Counting cells: the regions are found with the model in eval mode, then the loss is taken."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_eval_blob",
    "source": "ServiceNow/LCFCN #20",
    "roots": ["wrong-mode"],
    "description": "a helper used inside the loss sets model.eval() and leaves it so: the loss and the gradients are taken in eval mode",
    "location": "find_regions(): model.eval()",
    "shows_in": "wiring",
}


class CountNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.density = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        return self.density(self.features(x)).squeeze(1)


def find_regions(model, images, fixed):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        hot = model(images) > 0.5
    if fixed:
        model.train(was_training)
    return hot


def make_data(n_batches=4, batch_size=8, size=16):
    axis = torch.arange(size).float()
    data = []
    for _ in range(n_batches):
        density = torch.zeros(batch_size, size, size)
        for _ in range(4):
            cx, cy = torch.rand(2, batch_size, 1, 1) * size
            density += torch.exp(-((axis[None, :, None] - cy) ** 2 + (axis[None, None, :] - cx) ** 2) / 4)
        images = 40 + 25 * density + 2 * torch.randn(batch_size, size, size)
        data.append(((images - 50).unsqueeze(1) / 20, 2 * density))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = CountNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        images, density = batch
        model.train()
        hot = find_regions(model, images, fixed)
        out = model(images)
        weight = 1.0 + 0.5 * hot.float()
        return (weight * (out - density).pow(2)).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
