"""Multi-task regression: one encoder, two heads (depth and surface tilt), parameter lists per task."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_depth_normals",
    "source": "own experience (shared encoder in both tasks' parameter lists)",
    "roots": ["duplicate-parameters"],
    "description": "the shared encoder is in the parameter lists of both tasks, so it is updated twice per step",
    "location": "optimizer: encoder.parameters() in depth_params and in tilt_params",
    "shows_in": "wiring",
}


class TwoHeads(nn.Module):
    def __init__(self, n_in=20, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.depth = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))
        self.tilt = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        h = self.encoder(x)
        return self.depth(h).squeeze(-1), self.tilt(h)


def make_data(g, n_batches=8, batch=48):
    a = torch.randn(20, 3, generator=g) / 4
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch, 20, generator=g)
        s = x @ a
        data.append({"x": x, "depth": s[:, 0] + 0.5 * s[:, 1] ** 2, "tilt": torch.tanh(s[:, 1:])})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 20)
    data = make_data(g)
    model = TwoHeads()
    depth_params = [*model.encoder.parameters(), *model.depth.parameters()]
    if fixed:
        tilt_params = [*model.tilt.parameters()]
    else:
        tilt_params = [*model.encoder.parameters(), *model.tilt.parameters()]
    optimizer = torch.optim.Adam(depth_params + tilt_params, lr=2e-3)

    def step(batch):
        depth, tilt = model(batch["x"])
        loss = F.mse_loss(depth, batch["depth"]) + F.mse_loss(tilt, batch["tilt"])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
