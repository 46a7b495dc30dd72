"""Signature verification: siamese CNN, both branches are meant to be the same network."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_signature_siamese",
    "source": "own experience; CASES.md: taxonomy 34900246 (incorrect state sharing) is related",
    "roots": ["tied-weights-broken"],
    "description": "the second branch is a deepcopy of the first: two sets of weights where one shared set was meant",
    "location": "Siamese.branch_b",
    "shows_in": "wiring",
}


def make_branch(d):
    return nn.Sequential(
        nn.Conv2d(1, 10, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(10, 20, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(20 * 16, d),
    )


class Siamese(nn.Module):
    """branch_a and branch_b share weights, the score is a learned function of |a - b|."""

    def __init__(self, d=32, share=False):
        super().__init__()
        self.branch_a = make_branch(d)
        self.branch_b = self.branch_a if share else copy.deepcopy(self.branch_a)
        self.score = nn.Linear(d, 1)

    def forward(self, left, right):
        za, zb = self.branch_a(left), self.branch_b(right)
        return self.score((za - zb).abs()).squeeze(1)


def signature_pairs(n, g):
    shared = torch.Generator().manual_seed(6)
    writers = torch.randn(12, 1, 16, 16, generator=shared)
    a = torch.randint(0, 12, (n,), generator=g)
    other = (a + torch.randint(1, 12, (n,), generator=g)) % 12
    same = torch.rand(n, generator=g) < 0.5
    b = torch.where(same, a, other)
    noise = 0.3 * torch.randn(2, n, 1, 16, 16, generator=g)
    return writers[a] + noise[0], writers[b] + noise[1], same.float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    left, right, same = signature_pairs(8 * 32, g)
    data = list(zip(left.split(32), right.split(32), same.split(32)))
    model = Siamese(share=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x1, x2, genuine = batch
        return F.binary_cross_entropy_with_logits(model(x1, x2), genuine)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
