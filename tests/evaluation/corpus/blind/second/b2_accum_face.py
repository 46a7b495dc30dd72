"""Face identity classifier; each batch is run in parts and the gradient accumulated."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_accum_face",
    "source": "deepinsight/insightface #2258",
    "roots": ["accumulation-not-scaled"],
    "description": "eight micro-batches' mean losses are added up without dividing by eight, so the gradient is eight times too large for the learning rate",
    "location": "loss.backward() in the accumulation loop",
    "shows_in": "one-batch",
}
ACCUM = 8


class FaceNet(nn.Module):
    def __init__(self, n_in=64, n_ids=12, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(n_in, 96), nn.ReLU(),
            nn.Linear(96, 96), nn.ReLU(),
            nn.Linear(96, dim),
        )
        self.centers = nn.Linear(dim, n_ids)

    def forward(self, x):
        return self.centers(self.backbone(x))


def make_data(n_batches=6, batch_size=64):
    faces = torch.randn(12, 64) * 1.5
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 12, (batch_size,))
        x = faces[y] + torch.randn(batch_size, 64)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = FaceNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    def step(batch):
        images, ids = batch
        optimizer.zero_grad()
        total = 0.0
        for x, y in zip(images.chunk(ACCUM), ids.chunk(ACCUM)):
            loss = F.cross_entropy(model(x), y)
            if fixed:
                (loss / ACCUM).backward()
            else:
                loss.backward()
            total += loss.item()
        optimizer.step()
        return torch.tensor(total / ACCUM)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
