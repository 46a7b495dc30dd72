"""Neural ODE integrated by Euler."""
import torch
import torch.nn as nn

META = {
    "id": "h_neural_ode_euler",
    "description": 'The same small network is applied 20 times in a row (deep weight sharing), time is an extra input, and the trajectory is compared at 4 moments.',
    "roots": [],
}


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 2))

    def forward(self, t, y):
        return self.net(torch.cat([y, torch.full_like(y[:, :1], t)], 1))


def integrate(func, y, steps=20, dt=0.1, keep=5):
    out = []
    for i in range(steps):
        y = y + dt * func(i * dt, y)
        if (i + 1) % keep == 0:
            out.append(y)
    return torch.stack(out, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    A = torch.tensor([[-0.2, 2.0], [-2.0, -0.2]])
    data = []
    for _ in range(6):
        y0 = torch.randn(32, 2)
        traj = torch.stack([y0 @ torch.matrix_exp(A * 0.5 * k).t() for k in range(1, 5)], 1)
        data.append((y0, traj))
    model = ODEFunc()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        y0, traj = batch
        return (integrate(model, y0) - traj).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
