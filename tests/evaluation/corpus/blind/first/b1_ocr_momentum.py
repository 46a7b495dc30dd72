"""Licence-plate character recognition, SGD with momentum."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_ocr_momentum",
    "source": "own experience: one nine too many in the momentum",
    "roots": ["bad-momentum"],
    "description": "momentum 0.999 instead of 0.9: updates swing for hundreds of steps",
    "location": "torch.optim.SGD(momentum=0.999)",
    "shows_in": "one-batch",
}


class CharNet(nn.Module):
    def __init__(self, n_chars):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 24, 3, padding=1)
        self.f1 = nn.Linear(24 * 3 * 2, 64)
        self.f2 = nn.Linear(64, n_chars)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.c1(x)), 2)
        x = F.max_pool2d(torch.relu(self.c2(x)), 2)
        return self.f2(torch.relu(self.f1(x.flatten(1))))


def make_chars(n, n_chars):
    font = (torch.rand(n_chars, 1, 12, 8) > 0.6).float()
    label = torch.randint(0, n_chars, (n,))
    img = font[label] * (0.7 + 0.3 * torch.rand(n, 1, 1, 1)) + 0.25 * torch.randn(n, 1, 12, 8)
    return (img - img.mean()) / img.std(), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_chars, bs = 16, 32
    chars, labels = make_chars(10 * bs, n_chars)
    data = [{"image": c, "label": t} for c, t in zip(chars.split(bs), labels.split(bs))]
    model = CharNet(n_chars)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9 if fixed else 0.999)
    history = []

    def step(batch):
        logits = model(batch["image"])
        loss = F.cross_entropy(logits, batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append((logits.argmax(1) == batch["label"]).float().mean().item())
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
