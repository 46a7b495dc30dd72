"""Fits pendulum trajectories with L-BFGS on batches."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_lbfgs_pendulum",
    "source": "forum: LBFGS closure without zero_grad (physics-informed networks)",
    "roots": ["missing-zero-grad"],
    "checks": [],
    "description": "Gradients are cleared once before optimizer.step(closure), but the closure runs several times per step and adds them up.",
    "location": "step: optimizer.zero_grad() outside of closure",
}


class Fourier(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.register_buffer("freq", torch.arange(1, n + 1).float())

    def forward(self, x):
        t, rest = x[:, :1], x[:, 1:]
        return torch.cat([torch.sin(t * self.freq), torch.cos(t * self.freq), rest], dim=1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        t = 3 * torch.rand(64, 1)
        amp = 0.5 + torch.rand(64, 1)
        damp = 0.3 * torch.rand(64, 1)
        angle = amp * torch.exp(-damp * t) * torch.cos(2.0 * t)
        data.append((torch.cat([t, amp, damp], dim=1), angle.squeeze(1)))
    model = nn.Sequential(Fourier(), nn.Linear(14, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, history_size=4)

    def step(batch):
        x, y = batch
        if not fixed:
            optimizer.zero_grad()

        def closure():
            if fixed:
                optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
