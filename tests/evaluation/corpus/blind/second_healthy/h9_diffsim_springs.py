import torch
from torch import nn

META = {"id": "h9_diffsim_springs", "source": "differentiable physics examples", "roots": [], "checks": [],
        "description": "healthy system identification: spring constants, damping and mass recovered through a symplectic integrator",
        "location": ""}


class MassSpring(nn.Module):
    """a chain of five masses; positive parameters through softplus"""

    def __init__(self, k, c, drag=0.0):
        super().__init__()
        inv = lambda v: torch.log(torch.expm1(torch.as_tensor(v)))
        self.k_raw = nn.Parameter(inv(k))
        self.c_raw = nn.Parameter(inv(c))
        self.cubic = nn.Parameter(torch.tensor(drag))

    def forward(self, x, v, force, dt=0.05, T=20):
        k, c = nn.functional.softplus(self.k_raw), nn.functional.softplus(self.c_raw)
        out = []
        for t in range(T):
            ext = torch.diff(x, dim=1, prepend=torch.zeros(len(x), 1))
            tension = k * ext + self.cubic * ext ** 3
            a = torch.cat([tension[:, 1:], torch.zeros(len(x), 1)], 1) - tension - c * v + force[:, t]
            v = v + dt * a
            x = x + dt * v
            out.append(x)
        return torch.stack(out, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    truth = MassSpring([4.0, 2.0, 6.0, 3.0, 5.0], [0.3] * 5, 0.8)
    data = []
    with torch.no_grad():
        for _ in range(10):
            x0, v0 = 0.5 * torch.randn(16, 5, generator=g), torch.randn(16, 5, generator=g)
            force = torch.randn(16, 1, 5, generator=g).expand(-1, 20, -1) * 3
            traj = truth(x0, v0, force)
            data.append((x0, v0, force, traj + 0.005 * torch.randn(traj.shape, generator=g)))
    sim = MassSpring([2.0] * 5, [1.0] * 5)
    opt = torch.optim.Adam([{"params": [sim.k_raw, sim.c_raw], "lr": 0.08}, {"params": [sim.cubic], "lr": 0.03}], betas=(0.8, 0.99))

    def step(batch):
        x0, v0, f, obs = batch
        loss = 100 * (sim(x0, v0, f) - obs).pow(2).mean()        # in cm^2
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": sim, "optimizer": opt, "data": data, "step": step}
