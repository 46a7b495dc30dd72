import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_gnn_offsets",
        "source": "home-made graph batching (without PyG's Batch): the node offset is not added to edge_index",
        "roots": ["batch-mixing"], "checks": [],
        "description": "All graphs are flattened to one node list but their edges keep local ids, so every graph's messages go to the nodes of the first graph and come from there.",
        "location": "MolNet.forward: edge index"}


class GINLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, h, src, dst):
        agg = torch.zeros_like(h).index_add(0, dst, h[src])
        return h + self.mlp((1 + self.eps) * h + agg / 3)


class MolNet(nn.Module):
    def __init__(self, feats, dim=32, local=False):
        super().__init__()
        self.inp = nn.Linear(feats, dim)
        self.layers = nn.ModuleList([GINLayer(dim) for _ in range(2)])
        self.out = nn.Linear(dim, 1)
        self.local = local

    def forward(self, x, edges):
        b, n, _ = x.shape
        idx = edges
        if not self.local:
            idx = edges + n * torch.arange(b).view(b, 1, 1)
        src, dst = idx.transpose(0, 1).reshape(2, -1)
        h = self.inp(x.reshape(b * n, -1))
        for layer in self.layers:
            h = F.relu(layer(h, src, dst))
        return self.out(h.view(b, n, -1).mean(1)).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 15)
    w = torch.randn(4, generator=g)
    data = []
    for _ in range(16):
        x = torch.randn(16, 8, 4, generator=g)
        e = torch.randint(0, 8, (16, 2, 16), generator=g)
        s = (x @ w)
        y = torch.stack([torch.relu(s[i][e[i, 0]] + s[i][e[i, 1]]).mean() for i in range(16)])
        data.append({"x": x, "edges": e, "y": (y - 1.1) / 0.5})
    model = MolNet(4, local=not fixed)

    def loss(model, b):
        return F.mse_loss(model(b["x"], b["edges"]), b["y"])

    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3), "data": data, "loss": loss}
