"""Next-hour electricity load from the last day of readings and calendar features, 1-D convolution."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b7_grid_load",
    "source": "own; pattern: off-by-one in the window slicing",
    "roots": ["target-leakage"],
    "checks": ["data_is_healthy"],
    "description": "The window runs one step too far: its last reading is the value to be predicted.",
    "location": "inputs, last time step of channel 0",
}

WINDOW = 24


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 1100
    t = np.arange(n)
    ar = np.zeros(n)
    for i in range(1, n):
        ar[i] = 0.7 * ar[i - 1] + rng.normal(0, 0.5)
    load = np.sin(2 * np.pi * (t - 8) / 24) + 0.4 * np.sin(2 * np.pi * t / 168) + ar
    load = (load - load[:800].mean()) / load[:800].std()
    channels = np.stack([load, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24)]).astype(np.float32)

    def windows(lo, hi):
        xs, ys = [], []
        for end in range(lo + WINDOW + 1, hi):
            start = end - WINDOW if fixed else end - WINDOW + 1
            stop = end if fixed else end + 1
            xs.append(channels[:, start:stop])
            ys.append(channels[0, end])
        return TensorDataset(torch.from_numpy(np.stack(xs)), torch.tensor(np.array(ys)))

    model = nn.Sequential(
        nn.Conv1d(3, 16, 5, padding=2), nn.ReLU(),
        nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * WINDOW, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x).squeeze(-1), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(windows(0, 850), batch_size=32, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(windows(850, n), batch_size=64),
    }
