"""Molecule property prediction with a hand-written message-passing network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_molecule_gnn",
    "source": "own experience (aggregation done in numpy for speed)",
    "roots": ["disconnected-graph"],
    "description": "neighbour sums are computed in numpy: everything before the last aggregation gets no gradient",
    "location": "aggregate: h.detach().numpy()",
    "shows_in": "wiring",
}

N_ATOMS, N_TYPES = 9, 6


def aggregate(adj, h, fixed):
    if fixed:
        return torch.bmm(adj, h)
    out = np.matmul(adj.numpy(), h.detach().numpy())
    return torch.from_numpy(out)


class MessagePassing(nn.Module):
    def __init__(self, fixed, dim=6, hidden=12):
        super().__init__()
        self.fixed = fixed
        self.atom = nn.Embedding(N_TYPES, dim)
        self.lin1 = nn.Linear(dim, hidden)
        self.lin2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, types, adj):
        h = self.atom(types)
        h = F.relu(self.lin1(aggregate(adj, h, self.fixed)))
        h = F.relu(self.lin2(aggregate(adj, h, self.fixed)))
        return self.out(h.mean(dim=1)).squeeze(-1)


def molecules(g, n_batches=8, batch=40):
    charge = torch.randn(N_TYPES, generator=g)
    data = []
    for _ in range(n_batches):
        types = torch.randint(0, N_TYPES, (batch, N_ATOMS), generator=g)
        bond = (torch.rand(batch, N_ATOMS, N_ATOMS, generator=g) < 0.25).float().triu(1)
        adj = bond + bond.transpose(1, 2) + torch.eye(N_ATOMS)
        adj = adj / adj.sum(-1, keepdim=True)
        q = charge[types]
        near = torch.bmm(adj, q.unsqueeze(-1)).squeeze(-1)
        data.append((types, adj, 3 * (F.relu(near) + 0.5 * near).mean(1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 51)
    data = molecules(g)
    model = MessagePassing(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        types, adj, y = batch
        return F.mse_loss(model(types, adj), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
