"""CLIP-like two towers with a learned temperature."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_clip_two_tower",
    "description": 'Symmetric in-batch contrastive loss; the logit scale is a learned scalar, clamped after each step; the two towers have nothing in common.',
    "roots": [],
}


class TwoTower(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.image = nn.Sequential(nn.Conv1d(2, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 8, dim))
        self.words = nn.EmbeddingBag(40, 32)
        self.text = nn.Linear(32, dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, ids):
        a = F.normalize(self.image(img), dim=1)
        b = F.normalize(self.text(self.words(ids)), dim=1)
        return self.logit_scale.exp() * a @ b.t()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    look = torch.randn(40, 16)
    data = []
    for _ in range(8):
        ids = torch.randint(0, 40, (24, 4))
        img = look[ids].mean(1) * 2 + 0.1 * torch.randn(24, 16)
        data.append({"image": img.view(24, 2, 8), "caption": ids})
    model = TwoTower()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def step(batch):
        logits = model(batch["image"], batch["caption"])
        y = torch.arange(len(logits))
        loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.t(), y)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
