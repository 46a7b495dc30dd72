"""Gradual unfreezing of a sound-event backbone for a new set of sounds."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_unfreeze",
    "source": "CASES.md A mmpretrain-702 (freezing by name has no effect), the other way round",
    "roots": ["frozen-parameters"],
    "description": "the unfreezing after the warm-up looks for the prefix 'features', the module is called 'body': it stays frozen for good",
    "location": "unfreeze: name.startswith('features'); SoundNet.body",
    "shows_in": "one-batch",
}


class SoundNet(nn.Module):
    def __init__(self, n_classes, n_bins=20):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(n_bins, 24, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(6, n_classes)

    def forward(self, x):
        return self.head(self.body(x))


def make_sounds(n, n_classes, n_bins=20, frames=16):
    spectrum = torch.randn(n_classes, n_bins, 1)
    rate = torch.rand(n_classes, 1, 1) * 2
    label = torch.randint(0, n_classes, (n,))
    t = torch.arange(frames).float()
    env = 1 + 0.5 * torch.sin(rate[label] * t)
    x = spectrum[label] * env + 0.4 * torch.randn(n, n_bins, frames)
    return x, label


def pretrain(model, n_classes):
    x, y = make_sounds(96, n_classes)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(20):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = SoundNet(4)
    pretrain(model, 4)
    model.head = nn.Linear(6, 10)
    for p in model.body.parameters():
        p.requires_grad = False
    x, y = make_sounds(8 * 32, 10)
    data = list(zip(x.split(32), y.split(32)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    warmup, seen = 8, 0
    prefix = "body" if fixed else "features"

    def step(batch):
        nonlocal seen
        if seen == warmup:
            for name, p in model.named_parameters():
                if name.startswith(prefix):
                    p.requires_grad = True
        seen += 1
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
