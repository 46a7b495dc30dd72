import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

META = {"id": "h9_neural_ode", "source": "neural ODE demo", "roots": [], "checks": [],
        "description": "healthy neural ODE on spiral pieces: RK4 by hand, checkpointed steps, multi-step targets", "location": ""}


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for m in self.net[::2]:
            nn.init.normal_(m.weight, std=0.1)
            nn.init.zeros_(m.bias)

    def forward(self, y):
        return self.net(y ** 3)


def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    traj = [torch.tensor([[2.0, 0.0]])]
    for _ in range(600):
        traj.append(rk4(lambda y: (y ** 3) @ A, traj[-1], 0.02))
    traj = torch.cat(traj)
    data = []
    for _ in range(12):
        i = torch.randint(0, 550, (24,), generator=g)
        data.append((traj[i], torch.stack([traj[i + 2 * k] for k in range(1, 7)])))
    f = Field()
    opt = torch.optim.RMSprop(f.parameters(), lr=3e-3)

    def step(batch):
        y, target = batch
        loss = 0.0
        for k in range(6):
            y = checkpoint(rk4, f, y, 0.04, use_reentrant=False)
            loss = loss + (y - target[k]).abs().mean() / 6
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": f, "optimizer": opt, "data": data, "step": step}
