"""Semi-supervised node classification with a GCN."""
import torch
import torch.nn as nn

META = {
    "id": "h_gcn_semisup",
    "description": 'Full-graph training: the loss reads only the masked 15 percent of labelled nodes; most outputs get no gradient.',
    "roots": [],
}


class GCN(nn.Module):
    def __init__(self, n_in, classes):
        super().__init__()
        self.l1, self.l2 = nn.Linear(n_in, 32), nn.Linear(32, classes)

    def forward(self, x, adj):
        h = torch.relu(adj @ self.l1(x))
        return adj @ self.l2(h)


def make_graph(n=60, classes=3):
    y = torch.arange(n) % classes
    p = torch.where(y[:, None] == y[None], 0.25, 0.03)
    a = (torch.rand(n, n) < p).float().triu(1)
    a = a + a.t() + torch.eye(n)
    d = a.sum(1).rsqrt()
    x = torch.randn(n, 12) + 0.7 * nn.functional.one_hot(y, 12)
    return {"x": x, "adj": d[:, None] * a * d[None], "y": y, "train_mask": torch.rand(n) < 0.15}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [make_graph() for _ in range(5)]
    model = GCN(12, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)

    def loss(model, g):
        logits = model(g["x"], g["adj"])
        m = g["train_mask"]
        return nn.functional.cross_entropy(logits[m], g["y"][m])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
