import copy
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_fedavg_clients", "source": "federated learning simulator", "roots": [], "checks": [],
        "description": "healthy FedAvg with server momentum (FedAvgM): each batch is one round of unequal, label-skewed clients",
        "location": ""}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(10, 4, generator=g)
    clients = []
    for k in range(12):
        n = int(torch.randint(24, 80, (), generator=g))
        x = torch.randn(n, 10, generator=g) + 0.4 * W[:, k % 4]           # every client leans towards one class
        clients.append((x, (x @ W).argmax(1)))
    rounds = []
    for _ in range(16):
        pick = torch.randperm(12, generator=g)[:4].tolist()
        rounds.append([clients[i] for i in pick])
    server = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.SGD(server.parameters(), lr=1.0, momentum=0.5)

    def local_update(x, y):
        local = copy.deepcopy(server)
        o = torch.optim.SGD(local.parameters(), lr=0.1)
        first = None
        for _ in range(2):
            for idx in torch.randperm(len(x)).split(16):
                loss = F.cross_entropy(local(x[idx]), y[idx])
                first = loss.item() if first is None else first
                o.zero_grad()
                loss.backward()
                o.step()
        return local, first

    def step(participants):
        total = sum(len(y) for _, y in participants)
        opt.zero_grad(set_to_none=False)
        for p in server.parameters():
            p.grad = torch.zeros_like(p)
        report = 0.0
        for x, y in participants:
            local, l = local_update(x, y)
            w = len(y) / total
            report += w * l
            for ps, pl in zip(server.parameters(), local.parameters()):
                ps.grad.add_(ps.detach() - pl.detach(), alpha=w)          # pseudo-gradient
        opt.step()
        return report

    return {"model": server, "optimizer": opt, "data": rounds, "step": step}
