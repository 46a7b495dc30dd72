"""Texture classifier (CNN with BatchNorm and Dropout) with a Trainer class and periodic validation."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_leaf_cnn",
    "source": "forum classic: `model.train` without parentheses after validation",
    "roots": ["wrong-mode"],
    "checks": ["evaluates_cleanly"],
    "description": "After validation the model is not switched back to training: `self.model.train` is only referenced, never called.",
    "location": "Trainer.validate: self.model.train",
}


def textures(n, gen):
    y = torch.randint(0, 4, (n,), generator=gen)
    r = torch.arange(10).float()
    yy, xx = torch.meshgrid(r, r, indexing="ij")
    dirs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.7, -0.7]])
    ph = torch.rand(n, 1, 1, generator=gen) * 6.28
    d = dirs[y]
    wave = torch.sin(1.6 * (d[:, 0, None, None] * yy + d[:, 1, None, None] * xx) + ph)
    return wave.unsqueeze(1) + 0.3 * torch.randn(n, 1, 10, 10, generator=gen), y


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 25, 4)

    def forward(self, x):
        return self.fc(self.drop(self.features(x).flatten(1)))


class Trainer:
    def __init__(self, model, restore_mode):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.restore_mode = restore_mode

    def train_step(self, batch):
        x, y = batch
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss

    @torch.no_grad()
    def validate(self, val_data):
        self.model.eval()
        hits, total, nll = 0, 0, 0.0
        for x, y in val_data:
            logits = self.model(x)
            nll += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(1) == y).sum().item()
            total += len(y)
        if self.restore_mode:
            self.model.train()
        else:
            self.model.train
        return {"acc": hits / total, "nll": nll / total}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [textures(32, gen) for _ in range(8)]
    val = [textures(32, gen) for _ in range(2)]
    trainer = Trainer(LeafNet(), restore_mode=fixed)
    return {
        "model": trainer.model, "optimizer": trainer.opt, "data": data, "val": val,
        "step": trainer.train_step, "evaluate": trainer.validate,
    }
