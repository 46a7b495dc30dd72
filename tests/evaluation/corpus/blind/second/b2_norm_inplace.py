"""Patch classifier for microscope images kept in memory as tensors."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_norm_inplace",
    "source": "own experience (in-place normalisation of a cached dataset)",
    "roots": ["in-place-modification"],
    "description": "the images are normalised in place at every visit, so the cached batch drifts further each time it is used",
    "location": "normalize(): images.sub_(...).div_(...)",
    "shows_in": "wiring",
}
MEAN, STD = 0.4, 0.8


class PatchCNN(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 9, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def normalize(images, fixed):
    if fixed:
        return images.sub(MEAN).div(STD)
    return images.sub_(MEAN).div_(STD)


def make_data(n_batches=6, batch_size=24):
    kinds = MEAN + STD * torch.randn(5, 1, 12, 12)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        x = kinds[y] + 0.8 * torch.randn(batch_size, 1, 12, 12)
        data.append({"image": x, "label": y})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = PatchCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        images = normalize(batch["image"], fixed)
        return F.cross_entropy(model(images), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
