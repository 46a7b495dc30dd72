import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_simclr_tables", "source": "self-supervised tabular (SCARF-like) code", "roots": [], "checks": [],
        "description": "healthy NT-Xent on corrupted table rows, batch norm projector", "location": ""}


class Encoder(nn.Module):
    def __init__(self, d, h=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.proj = nn.Sequential(nn.Linear(h, h, bias=False), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, 24))

    def forward(self, x):
        return F.normalize(self.proj(self.trunk(x)), dim=-1)


def nt_xent(a, b, tau=0.3):
    z = torch.cat([a, b])
    sim = z @ z.T / tau
    sim.fill_diagonal_(-1e9)
    n = len(a)
    return F.cross_entropy(sim, torch.arange(2 * n).roll(n))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    latent = torch.randn(768, 5, generator=g)
    table = latent @ torch.randn(5, 20, generator=g) + 0.3 * torch.randn(768, 20, generator=g)
    table = (table - table.mean(0)) / table.std(0)
    data = torch.utils.data.DataLoader(table, batch_size=48, shuffle=True, drop_last=True,
                                       generator=torch.Generator().manual_seed(seed))
    net = Encoder(20)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.SequentialLR(
        opt, [torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, 8), torch.optim.lr_scheduler.CosineAnnealingLR(opt, 600)], [8])

    def corrupt(x):
        m = torch.rand_like(x) < 0.25
        donors = table[torch.randint(0, len(table), x.shape), torch.arange(x.shape[1])]
        return torch.where(m, donors, x)

    def step(x):
        net.train()
        loss = nt_xent(net(corrupt(x)), net(corrupt(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
