"""PINN for a damped oscillator in float64 with LBFGS."""
import torch
import torch.nn as nn

META = {
    "id": "h_pinn_lbfgs",
    "description": "LBFGS closure evaluated several times per step, float64 everywhere, no data but the equation's residual on one fixed grid of collocation points, second derivatives by autograd.",
    "roots": [],
}


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, t):
        return 1 + t ** 2 * self.net(t)          # u(0)=1, u'(0)=0 hold by construction


def residual(model, t):
    t = t.clone().requires_grad_(True)
    u = model(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
    return d2u + 0.4 * du + 4 * u


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [torch.linspace(0, 2, 48, dtype=torch.float64)[:, None]] * 4
    model = PINN().double()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=10, line_search_fn="strong_wolfe")

    def step(t):
        def closure():
            optimizer.zero_grad()
            loss = residual(model, t).pow(2).mean()
            loss.backward()
            return loss
        return optimizer.step(closure)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
