"""Molecular property regression with a hand-written message-passing network on batched graphs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_molecule_offsets",
    "source": "own experience",
    "roots": ["batch-mixing"],
    "description": "edge indices of the graphs in a batch are concatenated without node offsets, so all edges run among the first graph's nodes",
    "location": "collate: edges.append without offset",
    "shows_in": "full-data",
}


class MPNN(nn.Module):
    def __init__(self, n_types=5, d=48, n_layers=3):
        super().__init__()
        self.atom = nn.Embedding(n_types, d)
        self.msg = nn.ModuleList([nn.Linear(d, d) for _ in range(n_layers)])
        self.upd = nn.ModuleList([nn.GRUCell(d, d) for _ in range(n_layers)])
        self.readout = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, b):
        h = self.atom(b["atoms"])
        src, dst = b["edges"]
        for msg, upd in zip(self.msg, self.upd):
            m = torch.zeros_like(h).index_add_(0, dst, torch.tanh(msg(h))[src])
            h = upd(m, h)
        n_graphs = len(b["y"])
        pooled = torch.zeros(n_graphs, h.size(1)).index_add_(0, b["graph"], h)
        return self.readout(pooled / 6).squeeze(1)


def molecule(g):
    n = int(torch.randint(5, 10, (1,), generator=g))
    atoms = torch.randint(0, 5, (n,), generator=g)
    parent = [int(torch.randint(0, i, (1,), generator=g)) for i in range(1, n)]
    src = torch.tensor(parent + list(range(1, n)))
    dst = torch.tensor(list(range(1, n)) + parent)
    bond = (atoms[src] == atoms[dst]).float().sum() / 2 + ((atoms[src] - atoms[dst]).abs() == 2).float().sum() / 4
    return atoms, torch.stack([src, dst]), bond - 1.5


def collate(mols, with_offset):
    atoms, edges, graph, y, offset = [], [], [], [], 0
    for i, (a, e, t) in enumerate(mols):
        atoms.append(a)
        edges.append(e + offset if with_offset else e)
        graph.append(torch.full((len(a),), i))
        y.append(t)
        offset += len(a)
    return {"atoms": torch.cat(atoms), "edges": torch.cat(edges, 1), "graph": torch.cat(graph), "y": torch.stack(y)}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    mols = [molecule(g) for _ in range(6 * 32)]
    data = [collate(mols[i:i + 32], with_offset=fixed) for i in range(0, len(mols), 32)]
    model = MPNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return F.mse_loss(model(batch), batch["y"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
