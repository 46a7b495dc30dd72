"""Signature verification: siamese network with a contrastive margin loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_siamese_sqrt",
    "source": "CASES.md sqrtbackward 48702 / nan-in-torch-norm-if-input-is-zero/6844",
    "roots": ["unstable-operation"],
    "description": "the Euclidean distance takes sqrt at exactly 0 for identical pairs: infinite derivative, NaN gradients",
    "location": "pair_distance()",
    "shows_in": "nan",
}


class Embedder(nn.Module):
    def __init__(self, n_in=24, dim=8):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.fc(x)


def pair_distance(a, b, eps):
    return torch.sqrt(((a - b) ** 2).sum(dim=1) + eps)


def contrastive(distance, same, margin=2.0):
    pull = same * distance ** 2
    push = (1 - same) * F.relu(margin - distance) ** 2
    return (pull + push).mean()


def pairs(n, writers=8, n_in=24):
    style = torch.randn(writers, n_in)
    w1 = torch.randint(0, writers, (n,))
    same = (torch.rand(n) < 0.5).float()
    w2 = torch.where(same.bool(), w1, (w1 + torch.randint(1, writers, (n,))) % writers)
    a = style[w1] + 0.2 * torch.randn(n, n_in)
    b = style[w2] + 0.2 * torch.randn(n, n_in)
    twice = torch.arange(n) % 60 == 50
    b[twice], same[twice] = a[twice], 1.0
    return a, b, same


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    a, b, same = pairs(384)
    data = [(a[i:i + 48], b[i:i + 48], same[i:i + 48]) for i in range(0, 384, 48)]
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    eps = 1e-8 if fixed else 0.0

    def loss(model, batch):
        left, right, same = batch
        return contrastive(pair_distance(model(left), model(right), eps), same)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
