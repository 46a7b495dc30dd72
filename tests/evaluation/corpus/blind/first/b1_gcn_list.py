"""Graph classification of small molecules with hand-written graph convolutions."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_gcn_list",
    "source": "PyTorch forum classic: layers kept in a Python list instead of nn.ModuleList",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the graph convolutions sit in a plain list, so model.parameters() does not contain them and they never train",
    "location": "GCN.convs",
    "shows_in": "wiring",
}


class GraphConv(nn.Module):
    def __init__(self, din, dout):
        super().__init__()
        self.self_lin = nn.Linear(din, dout)
        self.nbr_lin = nn.Linear(din, dout, bias=False)

    def forward(self, h, adj):
        deg = adj.sum(-1, keepdim=True).clamp(min=1)
        return self.self_lin(h) + self.nbr_lin(adj @ h / deg)


class GCN(nn.Module):
    def __init__(self, n_atom_types, dim=32, depth=3, n_classes=2, registered=False):
        super().__init__()
        self.embed = nn.Embedding(n_atom_types, dim)
        convs = [GraphConv(dim, dim) for _ in range(depth)]
        self.convs = nn.ModuleList(convs) if registered else convs
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, n_classes))

    def forward(self, atoms, adj):
        h = self.embed(atoms)
        for conv in self.convs:
            h = h + F.relu(conv(h, adj))
        return self.readout(h.mean(dim=1))


def make_molecules(n, n_nodes=10, n_types=5):
    atoms = torch.randint(0, n_types, (n, n_nodes))
    adj = (torch.rand(n, n_nodes, n_nodes) < 0.2).float().triu(1)
    adj = adj + adj.transpose(1, 2)
    is_a = (atoms == 0).float()
    is_b = (atoms == 1).float()
    bonds = torch.einsum("ni,nij,nj->n", is_a, adj, is_b)
    return atoms, adj, (bonds >= 1).long()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    atoms, adj, active = make_molecules(10 * bs)
    data = list(zip(atoms.split(bs), adj.split(bs), active.split(bs)))
    model = GCN(n_atom_types=5, registered=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        atoms, adj, active = batch
        return F.cross_entropy(model(atoms, adj), active)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
