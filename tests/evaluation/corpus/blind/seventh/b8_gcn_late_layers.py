import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_gcn_late_layers", "source": "graph models whose layers are replaced after the optimizer was created", "roots": ["parameters-not-in-optimizer"], "checks": [],
 "description": "reset_layers() builds new convolutions once the feature width is known, after the optimizer took the old parameters: only the readout is trained",
 "location": "build: optimizer created before model.reset_layers"}

class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w_self, self.w_nei = nn.Linear(i, o), nn.Linear(i, o, bias=False)
    def forward(self, x, adj):
        return self.w_self(x) + self.w_nei(adj @ x / 3)

class MolNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.reset_layers(4)
        self.readout = nn.Linear(hidden, 1)
    def reset_layers(self, width):
        dims = [width, self.hidden, self.hidden]
        self.convs = nn.ModuleList(GraphConv(a, b) for a, b in zip(dims, dims[1:]))
    def forward(self, x, adj):
        for c in self.convs:
            x = F.elu(c(x, adj))
        return self.readout(x.sum(1) / 4).squeeze(-1)

def make_graphs(n, nodes=10):
    x = F.one_hot(torch.randint(0, 6, (n, nodes)), 6).float()
    a = (torch.rand(n, nodes, nodes) < 0.25).float()
    a = torch.triu(a, 1); a = a + a.transpose(1, 2)
    same = (x @ x.transpose(1, 2)) * a
    y = same.sum((1, 2)) / 8 + x[:, :, 0].sum(1) - x[:, :, 3].sum(1)
    return x, a, y

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [make_graphs(32) for _ in range(8)]
    model = MolNet()
    if fixed:
        model.reset_layers(data[0][0].shape[-1])
    optimizer = torch.optim.RAdam(model.parameters(), lr=2e-2, betas=(0.9, 0.99))
    if not fixed:
        model.reset_layers(data[0][0].shape[-1])
    def step(batch):
        x, a, y = batch
        model.zero_grad()
        loss = F.mse_loss(model(x, a), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
