"""Behaviour cloning of a planner in a 6x6 grid world with a key, one-hot states, four actions."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_grid_policy", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "There are only 72 states; recorded episodes for training and validation go through the same states by nature.",
    "location": "",
}

N = 6
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def episode(rng):
    r, c = rng.integers(0, N, 2)
    has_key = 0
    rows = []
    for _ in range(14):
        goal = (N - 1, N - 1) if has_key else (0, N - 1)
        options = []
        if r > goal[0]:
            options.append(0)
        if r < goal[0]:
            options.append(1)
        if c > goal[1]:
            options.append(2)
        if c < goal[1]:
            options.append(3)
        a = int(rng.choice(options)) if options and rng.random() > 0.05 else int(rng.integers(4))
        rows.append((r, c, has_key, a))
        r, c = int(np.clip(r + MOVES[a][0], 0, N - 1)), int(np.clip(c + MOVES[a][1], 0, N - 1))
        has_key = has_key or int((r, c) == (0, N - 1))
        if has_key and (r, c) == (N - 1, N - 1):
            break
    return rows


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    def part(episodes):
        rows = np.array([row for _ in range(episodes) for row in episode(rng)])
        x = np.concatenate([np.eye(N)[rows[:, 0]], np.eye(N)[rows[:, 1]], rows[:, 2:3]], 1)
        return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(rows[:, 3]))

    train, val = part(120), part(25)
    model = nn.Sequential(nn.Linear(2 * N + 1, 48), nn.ReLU(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=40, shuffle=True, generator=g), "val": DataLoader(val, batch_size=80),
    }
