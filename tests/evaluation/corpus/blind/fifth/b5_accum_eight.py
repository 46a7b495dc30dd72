"""Image tagging (multi-label) with gradient accumulation over micro-batches."""
import torch
import torch.nn as nn

META = {
    "id": "b5_accum_eight",
    "source": "CASES.md: deepinsight/insightface #2258, Soup PR 742 (accumulated gradient is N times the full-batch gradient)",
    "roots": ["accumulation-not-scaled"],
    "description": "eight micro-batch losses are backpropagated without division by eight, the update is eight times too large",
    "location": "Engine.train_batch: loss.backward()",
    "shows_in": "one-batch",
}


class Tagger(nn.Module):
    def __init__(self, n_tags=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        self.fc = nn.Sequential(nn.Linear(12 * 9, 64), nn.ReLU(), nn.Linear(64, n_tags))

    def forward(self, x):
        return self.fc(self.conv(x))


class Engine:
    def __init__(self, model, accum_steps, average):
        self.model = model
        self.accum_steps = accum_steps
        self.average = average
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.MSELoss()

    def train_batch(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        logged = 0.0
        for x, y in zip(batch["image"].chunk(self.accum_steps), batch["tags"].chunk(self.accum_steps)):
            loss = self.criterion(self.model(x), y)
            logged += loss.detach() / self.accum_steps
            if self.average:
                loss = loss / self.accum_steps
            loss.backward()
        self.optimizer.step()
        return logged


def tagged_images(n, seed):
    g = torch.Generator().manual_seed(seed)
    shared = torch.Generator().manual_seed(31)
    stickers = torch.randn(6, 3, 12, 12, generator=shared)
    tags = (torch.rand(n, 6, generator=g) < 0.4).float()
    x = torch.einsum("nt,tchw->nchw", tags, stickers) + 0.2 * torch.randn(n, 3, 12, 12, generator=g)
    return (x - x.mean()) / x.std(), 2 * tags - 1


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, tags = tagged_images(6 * 32, seed)
    data = [{"image": a, "tags": b} for a, b in zip(x.split(32), tags.split(32))]
    model = Tagger()
    engine = Engine(model, accum_steps=8, average=fixed)
    return {"model": model, "optimizer": engine.optimizer, "data": data, "step": engine.train_batch}
