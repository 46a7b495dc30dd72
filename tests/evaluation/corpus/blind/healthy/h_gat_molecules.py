"""Graph attention over batched edge lists."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_gat_molecules",
    "description": 'Edge softmax by scatter (amax and index_add), graphs of different size joined into one big graph; batch is a dataclass.',
    "roots": [],
}


@dataclass
class Graphs:
    x: torch.Tensor
    edges: torch.Tensor
    graph: torch.Tensor
    y: torch.Tensor


class GATLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)
        self.src, self.dst = nn.Linear(o, 1, bias=False), nn.Linear(o, 1, bias=False)

    def forward(self, x, edges):
        h = self.lin(x)
        s, d = edges
        e = F.leaky_relu(self.src(h)[s] + self.dst(h)[d], 0.2).squeeze(1)
        top = torch.full((len(x),), -1e9).scatter_reduce(0, d, e.detach(), "amax")
        w = (e - top[d]).exp()
        w = w / torch.zeros(len(x)).index_add(0, d, w)[d]
        return torch.zeros_like(h).index_add(0, d, w[:, None] * h[s])


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = GATLayer(6, 32), GATLayer(32, 32), nn.Linear(32, 1)

    def forward(self, g):
        h = F.elu(self.a(g.x, g.edges))
        h = F.elu(self.b(h, g.edges))
        n = int(g.graph.max()) + 1
        return self.out(torch.zeros(n, 32).index_add(0, g.graph, h)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        xs, es, gs, ys, base = [], [], [], [], 0
        for i in range(12):
            n = int(torch.randint(4, 9, ()))
            kind = torch.randint(0, 6, (n,))
            ring = torch.arange(n)
            e = torch.cat([torch.stack([ring, (ring + 1) % n]), torch.stack([(ring + 1) % n, ring]), torch.stack([ring, ring])], 1)
            xs.append(F.one_hot(kind, 6).float())
            es.append(e + base)
            gs.append(torch.full((n,), i))
            ys.append((kind == 0).sum() - 0.5 * (kind == 3).sum() + ((kind == 1) & (kind.roll(1) == 2)).sum())
            base += n
        data.append(Graphs(torch.cat(xs), torch.cat(es, 1), torch.cat(gs), torch.stack(ys).float()))
    model = GAT()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, g):
        return F.mse_loss(model(g), g.y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
