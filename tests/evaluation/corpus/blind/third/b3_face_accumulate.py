"""Face identification head trained with gradient accumulation over slices."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_face_accumulate",
    "source": "CASES.md I deepinsight/insightface #2258",
    "roots": ["accumulation-not-scaled"],
    "description": "the loss of each of the 4 slices is not divided by 4: the gradient is 4 times that of the whole batch",
    "location": "step: loss.backward() without / len(slices)",
    "shows_in": "wiring",
}


class FaceNet(nn.Module):
    def __init__(self, n_people=12, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(24 * 9, dim), nn.ReLU(),
        )
        self.people = nn.Linear(dim, n_people)

    def forward(self, x):
        return self.people(self.features(x))


def faces(g, n_batches=6, batch=64):
    person = torch.randn(12, 1, 12, 12, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 12, (batch,), generator=g)
        light = 0.8 + 0.4 * torch.rand(batch, 1, 1, 1, generator=g)
        data.append((light * person[y] + 0.4 * torch.randn(batch, 1, 12, 12, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 22)
    data = faces(g)
    model = FaceNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(batch):
        x, y = batch
        slices = list(zip(x.split(16), y.split(16)))
        optimizer.zero_grad()
        total = 0.0
        for xs, ys in slices:
            loss = F.cross_entropy(model(xs), ys)
            if fixed:
                (loss / len(slices)).backward()
            else:
                loss.backward()
            total += loss.item()
        optimizer.step()
        return total / len(slices)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
