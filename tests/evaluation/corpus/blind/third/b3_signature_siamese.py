"""Signature verification: siamese encoder with the contrastive loss on pairs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_signature_siamese",
    "source": "CASES.md J, nan-in-torch-norm-if-input-is-zero/6844 and sqrtbackward/48702",
    "roots": ["unstable-operation"],
    "description": "square root of the squared distance; a genuine pair made of the same scan twice has distance 0 and a NaN gradient",
    "location": "pair_distance: .sqrt() at 0",
    "shows_in": "nan",
}


class Encoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.fc = nn.Linear(16 * 4 * 4, dim)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def pair_distance(a, b, eps):
    return ((a - b) ** 2).sum(dim=1).add(eps).sqrt()


def contrastive(d, same, margin=2.0):
    return (same * d.pow(2) + (1 - same) * F.relu(margin - d).pow(2)).mean()


def make_pairs(g, n_batches=6, batch=24):
    writers = torch.randn(10, 1, 16, 16, generator=g)
    data = []
    for b in range(n_batches):
        w1 = torch.randint(0, 10, (batch,), generator=g)
        other = (w1 + torch.randint(1, 10, (batch,), generator=g)) % 10
        same = (torch.rand(batch, generator=g) < 0.5).float()
        w2 = torch.where(same.bool(), w1, other)
        x1 = writers[w1] + 0.3 * torch.randn(batch, 1, 16, 16, generator=g)
        x2 = writers[w2] + 0.3 * torch.randn(batch, 1, 16, 16, generator=g)
        if b == 2:
            x2[5] = x1[5]
            same[5] = 1.0
        data.append((x1, x2, same))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = make_pairs(g)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    eps = 1e-8 if fixed else 0.0

    def loss(model, batch):
        x1, x2, same = batch
        d = pair_distance(model(x1), model(x2), eps)
        return contrastive(d, same)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
