import torch
from torch import nn

META = {"id": "h9_egnn_forces", "source": "molecular property repo", "roots": [], "checks": [],
        "description": "healthy E(n)-equivariant network: energy standardised with statistics, forces by autograd, joint loss",
        "location": ""}


class EGCL(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.edge = nn.Sequential(nn.Linear(2 * h + 8, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.node = nn.Sequential(nn.Linear(2 * h, h), nn.SiLU(), nn.Linear(h, h))

    def forward(self, h, rbf, off):
        n = h.shape[1]
        pair = torch.cat([h[:, :, None].expand(-1, -1, n, -1), h[:, None].expand(-1, n, -1, -1), rbf], -1)
        return h + self.node(torch.cat([h, (self.edge(pair) * off).sum(2)], -1))


class Potential(nn.Module):
    def __init__(self, mean, std, h=32):
        super().__init__()
        self.z = nn.Embedding(2, h)
        self.layers = nn.ModuleList([EGCL(h) for _ in range(2)])
        self.out = nn.Sequential(nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))
        self.register_buffer("mu", torch.linspace(0.5, 3, 8))
        self.register_buffer("mean", mean), self.register_buffer("std", std)

    def forward(self, z, pos):
        pos = pos.detach().requires_grad_(True)
        n = pos.shape[1]
        off = (1 - torch.eye(n))[None, :, :, None]
        d = ((pos[:, :, None] - pos[:, None]).pow(2).sum(-1, keepdim=True) + 1e-6).sqrt()
        rbf = torch.exp(-4 * (d - self.mu) ** 2)
        h = self.z(z)
        for l in self.layers:
            h = l(h, rbf, off)
        e = self.out(h).sum((1, 2)) * self.std + self.mean
        f, = torch.autograd.grad(e.sum(), pos, create_graph=True)
        return e, -f


def true_energy(z, pos):
    n = pos.shape[1]
    q = torch.where(z == 0, 1.0, -1.0)
    d = ((pos[:, :, None] - pos[:, None]).pow(2).sum(-1) + torch.eye(n)).sqrt()
    w = q[:, :, None] * q[:, None] * torch.exp(-d) * 8 + torch.exp(-2 * (d - 1)) * 2
    return 0.5 * (w * (1 - torch.eye(n))).sum((1, 2)) - 40.0


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    z = torch.randint(0, 2, (256, 5), generator=g)
    grid = torch.tensor([[0, 0, 0], [1.3, 0, 0], [0, 1.3, 0], [0, 0, 1.3], [1.3, 1.3, 0.0]])
    pos = (grid + 0.25 * torch.randn(256, 5, 3, generator=g)).requires_grad_(True)
    E = true_energy(z, pos)
    Fo = -torch.autograd.grad(E.sum(), pos)[0]
    E, pos = E.detach(), pos.detach()
    model = Potential(E.mean(), E.std())
    data = [(z[i:i + 16], pos[i:i + 16], E[i:i + 16], Fo[i:i + 16]) for i in range(0, 256, 16)]
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-6)

    def step(batch):
        z, pos, e, f = batch
        pe, pf = model(z, pos)
        loss = 0.1 * (pe - e).pow(2).mean() / model.std ** 2 + (pf - f).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
