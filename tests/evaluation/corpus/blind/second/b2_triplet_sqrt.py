"""Metric learning for product photos with a soft-margin triplet loss over all pairs of the batch."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_triplet_sqrt",
    "source": "discuss.pytorch.org (NaN gradient of sqrt at zero in pairwise distances)",
    "roots": ["unstable-operation"],
    "description": "the pairwise distance takes the square root of exact zeros on the diagonal, whose gradient is infinite times zero",
    "location": "pairwise_distances: sqrt",
    "shows_in": "nan",
}


class EmbedNet(nn.Module):
    def __init__(self, n_in=40, dim=16):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, dim, bias=False)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def pairwise_distances(z, fixed):
    diff = z.unsqueeze(0) - z.unsqueeze(1)
    squared = diff.pow(2).sum(-1)
    if fixed:
        squared = squared + 1e-8
    return squared.sqrt()


def triplet_loss(z, y, fixed, margin=1.0):
    dist = pairwise_distances(z, fixed)
    same = (y[:, None] == y[None, :]).float()
    off_diag = 1 - torch.eye(len(y))
    hardest_pos = (dist * same * off_diag).amax(1)
    hardest_neg = (dist + 100.0 * same).amin(1)
    return F.relu(hardest_pos - hardest_neg + margin).mean()


def make_data(n_batches=6, batch_size=32):
    products = 1.2 * torch.randn(8, 40)
    data = []
    for _ in range(n_batches):
        y = torch.arange(8).repeat(batch_size // 8)
        x = products[y] + 0.8 * torch.randn(batch_size, 40)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = EmbedNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return triplet_loss(model(x), y, fixed)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
