"""Solubility of substituted six-rings: message passing on dense adjacency matrices."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_ring_molecules", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "All molecules have the same ring, so the adjacency matrices are equal in every graph; only atom types and charges differ.",
    "location": "",
}

RING, SIDE, TYPES = 6, 6, 5


def skeleton():
    n = RING + SIDE
    adj = np.eye(n, dtype=np.float32)
    for i in range(RING):
        j = (i + 1) % RING
        adj[i, j] = adj[j, i] = 1
        adj[i, RING + i] = adj[RING + i, i] = 1
    return adj / adj.sum(1, keepdims=True)


class MPNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.inp = nn.Linear(TYPES + 1, hidden)
        self.mix = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(2))
        self.out = nn.Linear(hidden, 1)

    def forward(self, nodes, adj):
        h = torch.relu(self.inp(nodes))
        for layer in self.mix:
            h = h + torch.relu(layer(adj @ h))
        return self.out(h.mean(1)).squeeze(1)


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    adj = torch.from_numpy(skeleton())
    polar = np.array([0.0, 0.8, 1.0, -0.6, -0.9])

    def batch(size):
        kind = np.zeros((size, RING + SIDE), np.int64)
        kind[:, RING:] = rng.choice(TYPES, (size, SIDE), p=[0.4, 0.15, 0.15, 0.15, 0.15])
        charge = rng.normal(0, 0.5, (size, RING + SIDE, 1))
        nodes = np.concatenate([np.eye(TYPES)[kind], charge], 2)
        near = (polar[kind[:, RING:]] * np.roll(polar[kind[:, RING:]], 1, 1)).sum(1)
        y = polar[kind].sum(1) + 0.3 * near + 0.3 * charge.sum((1, 2)) + rng.normal(0, 0.1, size)
        return {
            "nodes": torch.tensor(nodes, dtype=torch.float32),
            "adj": adj.expand(size, -1, -1).clone(),
            "y": torch.tensor(y / 1.8, dtype=torch.float32),
        }

    data, val = [batch(32) for _ in range(28)], [batch(64) for _ in range(3)]
    model = MPNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["nodes"], batch["adj"]), batch["y"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
