"""Relational graph network: node classification on small knowledge graphs with three kinds of edge."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_rgcn_dict",
    "source": "pytorch/pytorch #632",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the weights of each relation are nn.Parameters in a dict, which the module doesn't register: they never reach the optimizer",
    "location": "RelConv.rel_weight",
    "shows_in": "wiring",
}
N_NODES, N_REL = 20, 3


class RelConv(nn.Module):
    def __init__(self, d_in, d_out, fixed=False):
        super().__init__()
        self.self_loop = nn.Linear(d_in, d_out)
        weights = {str(r): nn.Parameter(torch.randn(d_in, d_out) / d_in ** 0.5) for r in range(N_REL)}
        self.rel_weight = nn.ParameterDict(weights) if fixed else weights

    def forward(self, x, adj):
        out = self.self_loop(x)
        for r in range(N_REL):
            deg = adj[:, r].sum(-1, keepdim=True).clamp(min=1)
            out = out + (adj[:, r] @ x / deg) @ self.rel_weight[str(r)]
        return out


class RGCN(nn.Module):
    def __init__(self, d_in, hidden, n_classes, fixed=False):
        super().__init__()
        self.conv1 = RelConv(d_in, hidden, fixed)
        self.conv2 = RelConv(hidden, hidden, fixed)
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        h = F.relu(self.conv2(h, adj))
        return self.out(h)


def make_data(n_batches=6, batch_size=8):
    teacher = torch.randn(N_REL, 8, 3)
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch_size, N_NODES, 8)
        adj = (torch.rand(batch_size, N_REL, N_NODES, N_NODES) < 0.12).float()
        score = 0
        for r in range(N_REL):
            score = score + (adj[:, r] @ x) @ teacher[r]
        data.append((x, adj, score.argmax(-1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = RGCN(8, 64, 3, fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        x, adj, y = batch
        return F.cross_entropy(model(x, adj).flatten(0, 1), y.flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
