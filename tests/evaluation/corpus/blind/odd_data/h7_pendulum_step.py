"""Dynamics model of a damped pendulum: the next state from state and torque."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_pendulum_step", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "The simulator is deterministic and the step short: the target is nearly a copy of the input columns, which is the task.",
    "location": "",
}


def rollouts(rng, episodes, steps=60, dt=0.05):
    xs, ys = [], []
    for _ in range(episodes):
        th, om = rng.uniform(-2, 2), rng.uniform(-2, 2)
        for _ in range(steps):
            u = rng.uniform(-3, 3)
            om2 = om + dt * (-9.81 * np.sin(th) - 0.3 * om + 4 * u)
            th2 = th + dt * om2
            xs.append((np.sin(th), np.cos(th), om / 3, u / 1.7))
            ys.append((np.sin(th2), np.cos(th2), om2 / 3))
            th, om = th2, om2
    return TensorDataset(torch.tensor(np.array(xs), dtype=torch.float32), torch.tensor(np.array(ys), dtype=torch.float32))


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, val = rollouts(rng, 20), rollouts(rng, 4)
    model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=48, shuffle=True, generator=g), "val": DataLoader(val, batch_size=120),
    }
