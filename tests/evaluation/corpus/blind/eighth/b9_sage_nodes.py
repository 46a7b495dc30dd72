import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_sage_nodes", "source": "graph-learning examples (PyG style): nll_loss without log_softmax",
        "roots": ["missing-activation-for-loss"], "checks": [],
        "description": "nll_loss gets raw scores: the log_softmax of the model is missing, and the loss falls without bound",
        "location": "GraphSAGE.forward"}


class SAGEConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin_self, self.lin_nb = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, edge_index, n):
        src, dst = edge_index
        agg = torch.zeros(n, x.size(1)).index_add_(0, dst, x[src])
        deg = torch.zeros(n).index_add_(0, dst, torch.ones(dst.numel())).clamp(min=1)
        return self.lin_self(x) + self.lin_nb(agg / deg[:, None])


class GraphSAGE(nn.Module):
    def __init__(self, i, hidden, classes, fixed):
        super().__init__()
        self.conv1, self.conv2 = SAGEConv(i, hidden), SAGEConv(hidden, classes)
        self.fixed = fixed

    def forward(self, data):
        n = data["x"].size(0)
        h = F.relu(self.conv1(data["x"], data["edge_index"], n))
        h = F.dropout(h, 0.2, training=self.training)
        h = self.conv2(h, data["edge_index"], n)
        if self.fixed:
            h = F.log_softmax(h, dim=-1)
        return h


def sampled_subgraphs(n_graphs, nodes, seed, classes=4, feats=16):
    """Stochastic block model subgraphs with seed nodes, like a neighbour loader yields."""
    g = torch.Generator().manual_seed(seed + 23)
    centers = torch.randn(classes, feats, generator=g) * 0.6
    out = []
    for _ in range(n_graphs):
        y = torch.randint(0, classes, (nodes,), generator=g)
        same = y[:, None] == y[None]
        prob = torch.where(same, torch.tensor(0.15), torch.tensor(0.02))
        adj = torch.rand(nodes, nodes, generator=g) < prob
        adj.fill_diagonal_(False)
        dst, src = adj.nonzero(as_tuple=True)
        x = centers[y] + torch.randn(nodes, feats, generator=g)
        out.append({"x": x, "edge_index": torch.stack([src, dst]), "y": y, "batch_size": 32})
    return out


def train(model, data, optimizer):
    model.train()
    optimizer.zero_grad()
    out = model(data)[: data["batch_size"]]
    loss = F.nll_loss(out, data["y"][: data["batch_size"]])
    loss.backward()
    optimizer.step()
    return float(loss)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    graphs = sampled_subgraphs(16, 120, seed)
    model = GraphSAGE(16, 48, 4, fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    return {"model": model, "optimizer": optimizer, "data": graphs,
            "step": lambda data: train(model, data, optimizer)}
