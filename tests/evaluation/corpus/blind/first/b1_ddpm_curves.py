"""Denoising diffusion model of one-dimensional response curves."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_ddpm_curves",
    "source": "own experience: in-place arithmetic in q_sample",
    "roots": ["in-place-modification"],
    "description": "q_sample scales and adds noise in place, so the stored curves turn into noise over the epochs",
    "location": "q_sample: x0.mul_(...).add_(...)",
    "shows_in": "one-batch",
}


class Denoiser(nn.Module):
    def __init__(self, n_points, n_steps, hidden=160):
        super().__init__()
        self.time = nn.Embedding(n_steps, 32)
        self.inp = nn.Linear(n_points + 32, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n_points)

    def forward(self, x, t):
        h = F.silu(self.inp(torch.cat([x, self.time(t)], dim=-1)))
        h = h + F.silu(self.mid(h))
        return self.out(h)


def make_curves(n, n_points=32):
    t = torch.linspace(0, 1, n_points)
    gain = torch.randn(n, 1)
    phase = torch.rand(n, 1)
    y = torch.sin(6.283 * (t + 0.2 * phase)) + 0.5 * gain * t
    return (y - y.mean()) / y.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_steps, bs = 20, 32
    betas = torch.linspace(0.08, 0.25, n_steps)
    alpha_bar = torch.cumprod(1 - betas, dim=0)
    curves = make_curves(6 * bs)
    data = [c.clone() for c in curves.split(bs)]
    model = Denoiser(curves.shape[1], n_steps)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def q_sample(x0, t, noise):
        a = alpha_bar[t].sqrt().unsqueeze(-1)
        s = (1 - alpha_bar[t]).sqrt().unsqueeze(-1)
        if fixed:
            return x0.mul(a).add(s * noise)
        return x0.mul_(a).add_(s * noise)

    def step(x0):
        t = torch.randint(0, n_steps, (len(x0),))
        noise = torch.randn_like(x0)
        x_t = q_sample(x0, t, noise)
        loss = F.mse_loss(model(x_t, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
