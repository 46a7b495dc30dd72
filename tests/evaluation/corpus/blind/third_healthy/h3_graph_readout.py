from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_graph_readout", "source": "healthy; PyG-like message passing by index_add",
        "roots": [], "checks": [], "description": "ragged graphs in one disjoint union, target is a function of neighbourhood features", "location": ""}


@dataclass
class GraphBatch:
    x: torch.Tensor
    edge: torch.Tensor
    graph: torch.Tensor
    y: torch.Tensor


class SAGE(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.own, self.nbr = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge):
        src, dst = edge
        agg = torch.zeros_like(x).index_add(0, dst, x[src])
        deg = torch.zeros(len(x)).index_add(0, dst, torch.ones(len(dst))).clamp(min=1)
        return self.own(x) + self.nbr(agg / deg[:, None])


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([SAGE(4, 32), SAGE(32, 32)])
        self.out = nn.Linear(32, 1)

    def forward(self, b):
        h = b.x
        for c in self.convs:
            h = F.relu(c(h, b.edge))
        n = len(b.y)
        cnt = torch.zeros(n).index_add(0, b.graph, torch.ones(len(b.graph)))
        pooled = torch.zeros(n, h.shape[1]).index_add(0, b.graph, h) / cnt[:, None]
        return self.out(pooled).squeeze(1)


def make(g, n=24):
    xs, es, gs, ys, off = [], [], [], [], 0
    for i in range(n):
        k = int(torch.randint(4, 10, (1,), generator=g))
        x = torch.randn(k, 4, generator=g)
        a = torch.rand(k, k, generator=g) < 0.4
        a = (a | a.t()).fill_diagonal_(False)
        e = a.nonzero().t()
        m = a.float() @ x / a.sum(1, keepdim=True).clamp(min=1)
        ys.append((F.relu(x[:, 0] - m[:, 1]).mean() + m[:, 2].mean()) * 1.5)
        xs.append(x)
        es.append(e + off)
        gs.append(torch.full((k,), i))
        off += k
    return GraphBatch(torch.cat(xs), torch.cat(es, 1), torch.cat(gs), torch.stack(ys))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 9)
    m = GNN()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=5e-3), "data": [make(g) for _ in range(24)],
            "loss": lambda m, b: F.mse_loss(m(b), b.y)}
