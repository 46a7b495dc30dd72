"""Node regression on small random graphs with two message-passing layers."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_graph_conv",
    "source": "scatter-style aggregation with the out-of-place index_add whose result is dropped (hand-written GNN layers)",
    "roots": ["ignores-input", "unused-parameters", "disconnected-graph"],
    "checks": [],
    "description": "index_add returns a new tensor that is not kept, the aggregate stays zero: edges and neighbours never reach the output.",
    "location": "MessageLayer.forward: agg.index_add(0, dst, msg)",
}


class MessageLayer(nn.Module):
    def __init__(self, d_in, d_out, inplace):
        super().__init__()
        self.self_lin = nn.Linear(d_in, d_out)
        self.msg_lin = nn.Linear(d_in, d_out)
        self.inplace = inplace

    def forward(self, h, src, dst):
        msg = self.msg_lin(h[src])
        agg = torch.zeros(h.size(0), msg.size(1), dtype=msg.dtype)
        if self.inplace:
            agg = agg.index_add(0, dst, msg)
        else:
            agg.index_add(0, dst, msg)
        return self.self_lin(h) + agg / 3.0


class GraphNet(nn.Module):
    def __init__(self, inplace):
        super().__init__()
        self.l1 = MessageLayer(5, 32, inplace)
        self.l2 = MessageLayer(32, 32, inplace)
        self.head = nn.Linear(32, 1)

    def forward(self, x, edges):
        b, n, _ = x.shape
        offset = (torch.arange(b) * n)[:, None, None]
        e = (edges + offset).reshape(-1, 2)
        h = x.reshape(b * n, -1)
        h = F.relu(self.l1(h, e[:, 0], e[:, 1]))
        h = F.relu(self.l2(h, e[:, 0], e[:, 1]))
        return self.head(h).view(b, n)


def graphs(b, gen, n=8, k=20):
    x = torch.randn(b, n, 5, generator=gen)
    edges = torch.randint(0, n, (b, k, 2), generator=gen)
    neigh = torch.zeros(b, n)
    for i in range(b):
        neigh[i].index_add_(0, edges[i, :, 1], x[i, edges[i, :, 0], 0])
    y = x[:, :, 1] - 0.5 * x[:, :, 2].relu() + 0.4 * neigh
    return x, edges, y


def loss_fn(model, batch):
    x, edges, y = batch
    return F.mse_loss(model(x, edges), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 6)
    data = [graphs(16, gen) for _ in range(8)]
    model = GraphNet(inplace=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
