"""Re-identification embedding with batch-hard triplets."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_triplet_batch_hard",
    "description": 'The hardest positive and negative of each anchor are mined in the batch; soft margin (softplus) instead of a hinge.',
    "roots": [],
}


class Embedder(nn.Module):
    def __init__(self, n_in=32, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, dim))

    def forward(self, x):
        return self.net(x)


def batch_hard(z, pid):
    d = torch.cdist(z, z)
    same = pid[:, None] == pid[None]
    hardest_pos = (d * same).amax(1)
    hardest_neg = d.masked_fill(same, float("inf")).amin(1)
    return F.softplus(hardest_pos - hardest_neg).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    people = torch.randn(24, 32)
    data = []
    for _ in range(8):
        ids = torch.randperm(24)[:8].repeat_interleave(4)
        data.append((people[ids] + 0.7 * torch.randn(32, 32), ids))
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, ids = batch
        return batch_hard(model(x), ids)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
