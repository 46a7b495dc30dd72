import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_ewc_continual", "source": "continual learning benchmark", "roots": [], "checks": [],
        "description": "healthy EWC: old task learned in build, Fisher penalty and a small rehearsal share during the second task",
        "location": ""}


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(64, 3), nn.Linear(64, 3)])

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(512, 20, generator=g)
    ya = (x @ torch.randn(20, 3, generator=g)).argmax(1)
    yb = (x @ torch.randn(20, 3, generator=g)).argmax(1)
    net = MultiHead()
    first = torch.optim.Adam(net.parameters(), lr=3e-3)
    for i in range(80):
        s = slice(i % 8 * 64, i % 8 * 64 + 64)
        first.zero_grad()
        F.cross_entropy(net(x[s], 0), ya[s]).backward()
        first.step()

    trunk = dict(net.trunk.named_parameters())
    fisher = {n: torch.zeros_like(p) for n, p in trunk.items()}
    for i in range(64):
        net.zero_grad()
        logp = net(x[i:i + 1], 0).log_softmax(1)
        logp[0, int(torch.multinomial(logp.exp()[0].detach(), 1))].backward()
        for n, p in trunk.items():
            fisher[n] += p.grad ** 2 / 64
    net.zero_grad()
    anchor = {n: p.detach().clone() for n, p in trunk.items()}
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    data = [(x[i:i + 32], yb[i:i + 32], x[j:j + 8], ya[j:j + 8]) for i in range(0, 512, 32) for j in [(i * 3) % 500]]

    def step(batch):
        xb, y, xr, yr = batch
        penalty = sum((fisher[n] * (p - anchor[n]) ** 2).sum() for n, p in net.trunk.named_parameters())
        loss = F.cross_entropy(net(xb, 1), y) + 0.25 * F.cross_entropy(net(xr, 0), yr) + 5.0 * penalty
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
