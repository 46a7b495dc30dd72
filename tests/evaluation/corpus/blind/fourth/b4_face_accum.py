"""Face-identity style classifier on feature vectors with accumulated micro-batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_face_accum",
    "source": "CASES.md deepinsight/insightface #2258",
    "roots": ["accumulation-not-scaled"],
    "description": "eight micro-batch losses are accumulated without dividing by eight",
    "location": "loss.backward() in accumulate()",
    "shows_in": "full-data",
}

ACCUM = 8


class IdentityNet(nn.Module):
    def __init__(self, n_in=32, identities=10, width=96):
        super().__init__()
        self.stem = nn.Linear(n_in, width)
        self.block = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.head = nn.Linear(width, identities)

    def forward(self, x):
        h = F.relu(self.stem(x))
        h = F.relu(h + self.block(h))
        return self.head(h)


class Accumulator:
    def __init__(self, model, lr, divide):
        self.model, self.divide = model, divide
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def accumulate(self, x, y):
        total = 0.0
        for xs, ys in zip(x.chunk(ACCUM), y.chunk(ACCUM)):
            loss = F.cross_entropy(self.model(xs), ys)
            total += loss.item() / ACCUM
            if self.divide:
                loss = loss / ACCUM
            loss.backward()
        return total

    def step(self, batch):
        self.model.train()
        self.opt.zero_grad()
        value = self.accumulate(*batch)
        self.opt.step()
        return torch.tensor(value)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    who = torch.randint(0, 10, (512,))
    face = torch.randn(10, 32)
    x = 1.5 * face[who] + 1.2 * torch.randn(512, 32)
    data = list(zip(x.split(64), who.split(64)))
    runner = Accumulator(IdentityNet(), lr=0.06, divide=fixed)
    return {"model": runner.model, "optimizer": runner.opt, "data": data, "step": runner.step}
