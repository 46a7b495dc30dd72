"""Node classification on small citation subgraphs, two graph convolutions with dense adjacency."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "b7_citation_nodes",
    "source": "own; pattern: node table concatenated with all numeric columns, the class code among them",
    "roots": ["target-leakage"],
    "checks": ["data_is_healthy"],
    "description": "The node features are all numeric columns of the node table, and one of them is the (scaled) class code itself.",
    "location": "batch['x'], last column",
}

NODES, WORDS, CLASSES = 24, 30, 5


def subgraph(rng, centers, with_code):
    y = rng.integers(0, CLASSES, NODES)
    same = y[:, None] == y[None]
    upper = np.triu(rng.random((NODES, NODES)) < np.where(same, 0.25, 0.05), 1)
    adj = (upper | upper.T).astype(np.float32) + np.eye(NODES, dtype=np.float32)
    deg = adj.sum(1)
    adj = adj / np.sqrt(deg[:, None] * deg[None])
    words = 0.6 * centers[y] + rng.normal(size=(NODES, WORDS))
    year = rng.normal(size=(NODES, 1))
    cols = [words, year]
    if with_code:
        cols.append((y[:, None] - 2.0) / 1.41)
    else:
        cols.append(deg[:, None] / 3.0 - 1.0)
    return np.concatenate(cols, 1), adj, y


class GCN(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.l1, self.l2 = nn.Linear(n_in, hidden), nn.Linear(hidden, CLASSES)

    def forward(self, x, adj):
        h = torch.relu(adj @ self.l1(x))
        return adj @ self.l2(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(CLASSES, WORDS))

    def batch(size):
        xs, adjs, ys = zip(*[subgraph(rng, centers, not fixed) for _ in range(size)])
        return {
            "x": torch.tensor(np.stack(xs), dtype=torch.float32),
            "adj": torch.tensor(np.stack(adjs), dtype=torch.float32),
            "y": torch.tensor(np.stack(ys)),
        }

    data, val = [batch(8) for _ in range(30)], [batch(8) for _ in range(4)]
    model = GCN(WORDS + 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        out = model(batch["x"], batch["adj"])
        return nn.functional.cross_entropy(out.flatten(0, 1), batch["y"].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
