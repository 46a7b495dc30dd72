"""Cell-type classification from gene expression, ported from an older code base."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_keep_prob",
    "source": "own experience (keep_prob of TensorFlow 1 taken over as p); CASES.md F change_dropout_rate",
    "roots": ["too-much-regularization"],
    "description": "the old keep probability 0.95 is passed as the drop probability",
    "location": "ExpressionNet: nn.Dropout(0.95)",
    "shows_in": "one-batch",
}

KEEP_PROB = 0.95


class ExpressionNet(nn.Module):
    def __init__(self, n_genes, n_types, p):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_genes, 128), nn.ReLU(), nn.Dropout(p),
            nn.Linear(128, 64), nn.ReLU(), nn.Dropout(p),
            nn.Linear(64, 32), nn.ReLU(), nn.Dropout(p),
            nn.Linear(32, n_types),
        )

    def forward(self, x):
        return self.net(x)


def expression(g, n_batches=8, batch=48, n_genes=60, n_types=6):
    profile = torch.rand(n_types, n_genes, generator=g) * 4
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, n_types, (batch,), generator=g)
        counts = torch.poisson(torch.exp(0.6 * profile[y]), generator=g)
        data.append((torch.log1p(counts) - 1.3, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 35)
    data = expression(g)
    p = 1 - KEEP_PROB if fixed else KEEP_PROB
    model = ExpressionNet(60, 6, p)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
