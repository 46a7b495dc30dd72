import torch, torch.nn as nn
META = {"id": "b8_particles_norm", "source": "learned pair potentials / N-body energies", "roots": ["unstable-operation"], "checks": [],
 "description": "the pair distances include i == j; sqrt(0) has an infinite derivative, and the force becomes nan through the mask multiplication",
 "location": "pair_dist"}

def pair_dist(pos, fixed):
    d2 = (pos[:, :, None] - pos[:, None]).pow(2).sum(-1)
    return torch.sqrt(d2 + 1e-6) if fixed else torch.sqrt(d2)

class PairPotential(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.fixed = fixed
        self.register_buffer("mu", torch.linspace(0, 4, 16))
        self.phi = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 1))
    def forward(self, pos):
        r = pair_dist(pos, self.fixed)
        rbf = torch.exp(-4 * (r[..., None] - self.mu) ** 2)
        off = 1 - torch.eye(pos.shape[1])
        return 0.5 * (self.phi(rbf).squeeze(-1) * off).sum((1, 2))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    def energy(p):
        d = (p[:, :, None] - p[:, None]).pow(2).sum(-1) + 0.3
        return 0.5 * ((1 / d) * (1 - torch.eye(p.shape[1]))).sum((1, 2))
    data = []
    for _ in range(6):
        p = torch.randn(16, 6, 3).requires_grad_()
        e = energy(p)
        f = -torch.autograd.grad(e.sum(), p)[0]
        data.append({"pos": p.detach(), "e": e.detach(), "f": f})
    model = PairPotential(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    def step(b):
        pos = b["pos"].clone().requires_grad_(True)
        optimizer.zero_grad()
        e = model(pos)
        f = -torch.autograd.grad(e.sum(), pos, create_graph=True)[0]
        loss = 0.05 * (e - b["e"]).pow(2).mean() + (f - b["f"]).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
