"""Keyword spotting on synthetic spectrograms with a 1-D CNN and static loss scaling."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_keyword_scaled",
    "source": "GradScaler documentation pitfall: clip_grad_norm_ without scaler.unscale_ first",
    "roots": ["bad-gradient-clipping"],
    "checks": [],
    "description": "Gradients are clipped while still multiplied by the loss scale, so after unscaling their norm is at most 1/2048.",
    "location": "LossScaler.step: clip before unscale",
}


class KeywordNet(nn.Module):
    def __init__(self, bands=10, classes=4):
        super().__init__()
        self.conv1 = nn.Conv1d(bands, 24, 5, padding=2)
        self.conv2 = nn.Conv1d(24, 24, 3, padding=1)
        self.norm = nn.GroupNorm(4, 24)
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.norm(self.conv2(h)))
        return self.fc(h.amax(-1))


class LossScaler:
    def __init__(self, optimizer, params, scale=2048.0, max_norm=1.0, unscale_first=False):
        self.optimizer = optimizer
        self.params = list(params)
        self.scale = scale
        self.max_norm = max_norm
        self.unscale_first = unscale_first

    def unscale(self):
        for p in self.params:
            if p.grad is not None:
                p.grad.mul_(1.0 / self.scale)

    def clip(self):
        nn.utils.clip_grad_norm_(self.params, self.max_norm)

    def backward(self, loss):
        (loss * self.scale).backward()

    def step(self):
        for op in ((self.unscale, self.clip) if self.unscale_first else (self.clip, self.unscale)):
            op()
        self.optimizer.step()


def spectrograms(n, gen):
    y = torch.randint(0, 4, (n,), generator=gen)
    x = 0.4 * torch.randn(n, 10, 20, generator=gen)
    for i in range(n):
        s = int(torch.randint(0, 10, (1,), generator=gen))
        for j in range(8):
            band = [j, 7 - j, 2, j % 4 * 2][int(y[i])]
            x[i, band, s + j] += 2.0
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 1)
    data = [spectrograms(32, gen) for _ in range(8)]
    model = KeywordNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scaler = LossScaler(optimizer, model.parameters(), unscale_first=fixed)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.backward(loss)
        scaler.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
