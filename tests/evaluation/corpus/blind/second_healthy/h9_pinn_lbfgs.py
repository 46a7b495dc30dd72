import torch
from torch import nn

META = {"id": "h9_pinn_lbfgs", "source": "scientific ML repo", "roots": [], "checks": [],
        "description": "healthy PINN for u'' + u = 0 with hard initial condition: Adam first, then LBFGS with strong Wolfe",
        "location": ""}


class U(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, t):                      # u(0) = 1, u'(0) = 0 by construction
        return 1 + t ** 2 * self.net(t / 2 - 1)


def residual(u, t):
    t = t.detach().requires_grad_(True)
    y = u(t)
    d1, = torch.autograd.grad(y.sum(), t, create_graph=True)
    d2, = torch.autograd.grad(d1.sum(), t, create_graph=True)
    return d2 + y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    u = U()
    pts = torch.linspace(0, 4, 64)[:, None]
    sensors = torch.linspace(0.5, 3.5, 16)[:, None]
    data = [{"colloc": pts, "t": sensors, "u": torch.cos(sensors)}]
    adam = torch.optim.Adam(u.parameters(), lr=5e-3)
    lbfgs = torch.optim.LBFGS(u.parameters(), lr=1.0, max_iter=5, history_size=20, line_search_fn="strong_wolfe")
    count = {"n": 0}

    def objective(b):
        return residual(u, b["colloc"]).pow(2).mean() + (u(b["t"]) - b["u"]).pow(2).mean()

    def step(b):
        count["n"] += 1
        if count["n"] <= 40:
            adam.zero_grad()
            loss = objective(b)
            loss.backward()
            adam.step()
            return loss.item()

        def closure():
            lbfgs.zero_grad()
            l = objective(b)
            l.backward()
            return l
        return lbfgs.step(closure).item()

    return {"model": u, "optimizer": {"adam": adam, "lbfgs": lbfgs}, "data": data, "step": step}
