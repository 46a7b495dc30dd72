"""Graph classification with hand-made message passing; graphs of a batch are stacked into one big graph."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_graph_offset",
    "source": "own experience (collate without node offsets)",
    "roots": ["batch-mixing"],
    "description": "the edges of the stacked graphs are not shifted by the nodes before them: every graph's messages go to the nodes of the first graph",
    "location": "GraphNet.merge, edges + offset",
    "shows_in": "one-batch",
}
NODES, EDGES = 10, 16


class GraphNet(nn.Module):
    def __init__(self, n_in=5, dim=48, n_classes=3, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.inp = nn.Linear(n_in, dim)
        self.msg1, self.upd1 = nn.Linear(dim, dim), nn.Linear(2 * dim, dim)
        self.msg2, self.upd2 = nn.Linear(dim, dim), nn.Linear(2 * dim, dim)
        self.out = nn.Linear(dim, n_classes)

    def merge(self, nodes, edges):
        b, n = nodes.shape[:2]
        if self.fixed:
            edges = edges + torch.arange(b)[:, None, None] * n
        return nodes.flatten(0, 1), edges.permute(1, 0, 2).reshape(2, -1)

    def propagate(self, h, edges, msg, upd):
        src, dst = edges
        agg = torch.zeros_like(h).index_add(0, dst, msg(h)[src])
        return F.relu(upd(torch.cat([h, agg], -1)))

    def forward(self, nodes, edges):
        b = nodes.size(0)
        x, edges = self.merge(nodes, edges)
        h = F.relu(self.inp(x))
        h = self.propagate(h, edges, self.msg1, self.upd1)
        h = self.propagate(h, edges, self.msg2, self.upd2)
        return self.out(h.view(b, NODES, -1).mean(1))


def make_data(n_batches=10, batch_size=32):
    data = []
    for _ in range(n_batches):
        kind = torch.randint(0, 5, (batch_size, NODES))
        edges = torch.randint(0, NODES, (batch_size, 2, EDGES))
        a, b = kind.gather(1, edges[:, 0]), kind.gather(1, edges[:, 1])
        same = (a == b).sum(1)
        y = (same >= 3).long() + (same >= 5).long()
        data.append((F.one_hot(kind, 5).float(), edges, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = GraphNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        nodes, edges, y = batch
        return F.cross_entropy(model(nodes, edges), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
