"""Inverse dynamics of a two joint arm."""
import math
import torch

META = {"id": "t9_robot_arm", "source": "robotics lab repository, the scheduler is made and never stepped",
        "roots": ["needs-lr-decay", "lr-too-high"], "checks": [],
        "description": "the loss falls fast, then bounces around a level that the constant learning rate sets",
        "location": "build.train_step: no scheduler.step()"}


def simulate(n, gen):
    q = (torch.rand(n, 2, generator=gen) * 2 - 1) * math.pi / 2
    dq = torch.randn(n, 2, generator=gen)
    ddq = torch.randn(n, 2, generator=gen)
    c2, s2 = torch.cos(q[:, 1]), torch.sin(q[:, 1])
    m11, m12, m22 = 2.2 + 1.4 * c2, 0.7 + 0.7 * c2, 0.7
    tau1 = m11 * ddq[:, 0] + m12 * ddq[:, 1] - 0.7 * s2 * (2 * dq[:, 0] * dq[:, 1] + dq[:, 1] ** 2) + 3 * torch.cos(q[:, 0])
    tau2 = m12 * ddq[:, 0] + m22 * ddq[:, 1] + 0.7 * s2 * dq[:, 0] ** 2 + 2 * torch.cos(q.sum(1))
    tau = torch.stack([tau1, tau2], 1)
    return torch.cat([torch.sin(q), torch.cos(q), dq, ddq], 1), (tau - tau.mean(0)) / tau.std(0)


class Dynamics(torch.nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.fc1 = torch.nn.Linear(8, width)
        self.fc2 = torch.nn.Linear(width, width)
        self.fc3 = torch.nn.Linear(width, 2)

    def forward(self, s):
        return self.fc3(torch.nn.functional.silu(self.fc2(torch.nn.functional.silu(self.fc1(s)))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 6)
    s, tau = simulate(1024, gen)
    sv, tv = simulate(256, gen)
    model = Dynamics()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1.0 / (1.0 + (t / 30.0) ** 1.0))

    def train_step(batch):
        state, torque = batch
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(state), torque)
        loss.backward()
        optimizer.step()
        if fixed:
            scheduler.step()
        return loss.item()

    data = [(s[i:i + 16], tau[i:i + 16]) for i in range(0, 1024, 16)]
    val = [(sv[i:i + 64], tv[i:i + 64]) for i in range(0, 256, 64)]
    return {"model": model, "optimizer": optimizer, "data": data, "step": train_step, "val": val}
