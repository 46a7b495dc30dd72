import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_gcn_transductive", "source": "graph learning examples", "roots": [], "checks": [],
        "description": "healthy full-graph GCN: one batch is the whole graph, 20 labels per class, dropout, L2 on first layer only",
        "location": ""}


class GCNConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, self.lin(x)) + self.bias


class GCN(nn.Module):
    def __init__(self, f, h, c):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(f, h), GCNConv(h, c)

    def forward(self, x, adj):
        x = F.dropout(x, 0.3, self.training)
        x = F.relu(self.conv1(x, adj))
        return self.conv2(F.dropout(x, 0.5, self.training), adj)


def cora_like(g, n=300, c=3, f=120):
    y = torch.randint(0, c, (n,), generator=g)
    same = y[:, None] == y[None]
    p = torch.where(same, 0.04, 0.006)
    a = torch.triu((torch.rand(n, n, generator=g) < p).float(), 1)
    a = a + a.T + torch.eye(n)
    dinv = a.sum(1).rsqrt()
    a = (dinv[:, None] * a * dinv[None]).to_sparse()
    topic = torch.rand(c, f, generator=g) ** 3 * 0.3
    x = (torch.rand(n, f, generator=g) < topic[y]).float()
    x = x / x.sum(1, keepdim=True).clamp_min(1)          # row-normalised bag of words
    mask = torch.zeros(n, dtype=torch.bool)
    for k in range(c):
        mask[(y == k).nonzero().flatten()[:20]] = True
    return x, a, y, mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, adj, y, mask = cora_like(torch.Generator().manual_seed(seed))
    model = GCN(x.shape[1], 16, 3)
    opt = torch.optim.Adam([dict(params=model.conv1.parameters(), weight_decay=5e-4),
                            dict(params=model.conv2.parameters(), weight_decay=0)], lr=0.02)

    def step(batch):
        x, adj, y, mask = batch
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(x, adj)[mask], y[mask])
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": [(x, adj, y, mask)], "step": step}
