"""Siamese net for signature verification: one tower for both signatures."""
import copy
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_siamese_copy",
    "source": "stackoverflow 34900246 (incorrect state sharing)",
    "roots": ["tied-weights-broken"],
    "description": "the right tower is a deepcopy of the left one instead of the same module: the towers drift apart",
    "location": "Siamese.right",
    "shows_in": "wiring",
}


def make_tower(n_in=24, dim=24):
    return nn.Sequential(nn.Linear(n_in, 160), nn.ReLU(), nn.Linear(160, 160), nn.ReLU(), nn.Linear(160, dim, bias=False))


class Siamese(nn.Module):
    def __init__(self, fixed=False):
        super().__init__()
        self.left = make_tower()
        self.right = self.left if fixed else copy.deepcopy(self.left)

    def forward(self, a, b):
        return F.pairwise_distance(self.left(a), self.right(b), eps=1e-4)


def contrastive_loss(dist, same, margin=1.5):
    pull = same * dist.pow(2)
    push = (1 - same) * F.relu(margin - dist).pow(2)
    return (pull + push).mean()


def make_data(n_batches=8, batch_size=48):
    writers = torch.randn(12, 24)
    data = []
    for _ in range(n_batches):
        w1 = torch.randint(0, 12, (batch_size,))
        same = (torch.rand(batch_size) < 0.5)
        w2 = torch.where(same, w1, (w1 + torch.randint(1, 12, (batch_size,))) % 12)
        a = writers[w1] + 0.2 * torch.randn(batch_size, 24)
        b = writers[w2] + 0.2 * torch.randn(batch_size, 24)
        data.append({"a": a, "b": b, "same": same.float()})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Siamese(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return contrastive_loss(model(batch["a"], batch["b"]), batch["same"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
