"""GCN on small social graphs: predict each person's group from the neighbours."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_adj_inplace",
    "source": "own experience (self loops added in place to the batch's adjacency matrix)",
    "roots": ["in-place-modification"],
    "description": "every forward adds self loops to the batch's adjacency matrix in place, so the neighbours fade out over the epochs",
    "location": "normalize_adj: adj += eye",
    "shows_in": "wiring",
}
NODES = 24


def normalize_adj(adj, fixed):
    eye = torch.eye(adj.size(-1))
    if fixed:
        adj = adj + eye
    else:
        adj += eye
    inv_sqrt = adj.sum(-1).pow(-0.5)
    return inv_sqrt.unsqueeze(-1) * adj * inv_sqrt.unsqueeze(-2)


class GCN(nn.Module):
    def __init__(self, n_in=10, hidden=48, n_classes=3, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.w1 = nn.Linear(n_in, hidden)
        self.w2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x, adj):
        a = normalize_adj(adj, self.fixed)
        h = F.relu(a @ self.w1(x))
        h = F.relu(a @ self.w2(h))
        return self.out(h)


def make_data(n_batches=6, batch_size=8):
    look = torch.randn(3, 10)
    data = []
    for _ in range(n_batches):
        group = torch.randint(0, 3, (batch_size, NODES))
        same = (group[:, :, None] == group[:, None, :]).float()
        adj = (torch.rand(batch_size, NODES, NODES) < 0.03 + 0.5 * same).float().triu(1)
        adj = adj + adj.transpose(1, 2)
        x = look[group] + 1.8 * torch.randn(batch_size, NODES, 10)
        data.append({"x": x, "adj": adj, "group": group})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = GCN(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch["x"], batch["adj"])
        return F.cross_entropy(logits.flatten(0, 1), batch["group"].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
