"""Insurance claims: numeric columns are bucketed and embedded, then a small MLP."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_age_buckets",
    "source": "CASES.md E pyro 204f9e06 (invalid datatype in preprocessing); own experience",
    "roots": ["ignores-input"],
    "description": "columns scaled to [0, 1) are cast to long before being multiplied by the number of buckets: every value falls into bucket 0",
    "location": "BucketEmbedding.forward: x.long() * buckets",
    "shows_in": "one-batch",
}


class BucketEmbedding(nn.Module):
    def __init__(self, n_columns, buckets=16, dim=8, fixed=False):
        super().__init__()
        self.buckets = buckets
        self.fixed = fixed
        self.table = nn.Embedding(n_columns * buckets, dim)
        self.register_buffer("offset", torch.arange(n_columns) * buckets)

    def forward(self, x):
        if self.fixed:
            idx = (x * self.buckets).long()
        else:
            idx = x.long() * self.buckets
        idx = idx.clamp(0, self.buckets - 1)
        return self.table(idx + self.offset).flatten(1)


class ClaimNet(nn.Module):
    def __init__(self, n_columns=6, fixed=False):
        super().__init__()
        self.embed = BucketEmbedding(n_columns, fixed=fixed)
        self.mlp = nn.Sequential(nn.Linear(n_columns * 8, 64), nn.ReLU(), nn.Dropout(0.05), nn.Linear(64, 1))

    def forward(self, x):
        return self.mlp(self.embed(x)).squeeze(1)


def make_data(g, n_batches=10, batch=64):
    data = []
    for _ in range(n_batches):
        x = torch.rand(batch, 6, generator=g)
        risk = 4 * (x[:, 0] - 0.5) ** 2 + x[:, 1] - torch.sin(3 * x[:, 2]) + 0.5 * x[:, 3] - 0.3
        data.append((x, (risk > 0).float()))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 90)
    data = make_data(g)
    model = ClaimNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, claim = batch
        return F.binary_cross_entropy_with_logits(model(x), claim)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
