"""Graph convolution by hand on small molecules-like graphs, with functional dropout."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_functional_dropout",
    "source": "CASES.md 48138483 (dropout always active, in training and in inference)",
    "roots": ["wrong-mode"],
    "description": "F.dropout is called without training=self.training, so evaluation is done with dropout on",
    "location": "GraphNet.forward, F.dropout",
    "shows_in": "wiring",
}


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.own = nn.Linear(n_in, n_out)
        self.neighbour = nn.Linear(n_in, n_out, bias=False)

    def forward(self, h, adj):
        degree = adj.sum(-1, keepdim=True).clamp(min=1)
        return self.own(h) + self.neighbour(adj @ h / degree)


class GraphNet(nn.Module):
    def __init__(self, fixed, n_in=6, hidden=64, classes=3, p=0.2):
        super().__init__()
        self.fixed, self.p = fixed, p
        self.conv1 = GraphConv(n_in, hidden)
        self.conv2 = GraphConv(hidden, hidden)
        self.readout = nn.Linear(hidden, classes)

    def forward(self, nodes, adj):
        flag = self.training if self.fixed else True
        h = F.relu(self.conv1(nodes, adj))
        h = F.dropout(h, self.p, training=flag)
        h = F.relu(self.conv2(h, adj))
        h = F.dropout(h.mean(1), self.p, training=flag)
        return self.readout(h)


def graphs(n, nodes=8):
    label = torch.randint(0, 3, (n,))
    upper = (torch.rand(n, nodes, nodes) < 0.3).float().triu(1)
    adj = upper + upper.transpose(1, 2)
    atom = torch.where(torch.rand(n, nodes) < 0.5, label[:, None], torch.randint(0, 6, (n, nodes)))
    return F.one_hot(atom, 6).float(), adj, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    nodes, adj, label = graphs(192)
    data = [{"nodes": nodes[i:i + 24], "adj": adj[i:i + 24], "label": label[i:i + 24]} for i in range(0, 192, 24)]
    model = GraphNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch["nodes"], batch["adj"]), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
