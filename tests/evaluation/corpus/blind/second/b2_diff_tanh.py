"""Denoising diffusion on small signals: an MLP with time embedding predicts the noise."""
import math
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_diff_tanh",
    "source": "DeepCrime operator change_activation_function, ported to a noise predictor",
    "roots": ["wrong-output-activation"],
    "description": "the noise predictor ends with tanh, but Gaussian noise lies outside (-1, 1) a third of the time",
    "location": "EpsNet.out (nn.Tanh)",
    "shows_in": "one-batch",
}
STEPS = 50


class EpsNet(nn.Module):
    def __init__(self, n=16, hidden=128, fixed=False):
        super().__init__()
        self.t_emb = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.inp = nn.Linear(n + 32, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, n) if fixed else nn.Sequential(nn.Linear(hidden, n), nn.Tanh())

    def forward(self, x, t):
        freqs = torch.exp(-math.log(100.0) * torch.arange(8) / 8)
        arg = t[:, None].float() * freqs
        emb = self.t_emb(torch.cat([arg.sin(), arg.cos()], -1))
        h = F.silu(self.inp(torch.cat([x, emb], -1)))
        h = h + F.silu(self.mid(h))
        return self.out(h)


def make_data(n_batches=8, batch_size=48, n=16):
    beta = torch.linspace(1e-3, 0.15, STEPS)
    alpha_bar = torch.cumprod(1 - beta, 0)
    grid = torch.linspace(0, 6.28, n)
    data = []
    for _ in range(n_batches):
        x0 = torch.sin(grid + 6.28 * torch.rand(batch_size, 1))
        t = torch.randint(0, STEPS, (batch_size,))
        eps = torch.randn_like(x0)
        a = alpha_bar[t][:, None]
        data.append({"x_t": a.sqrt() * x0 + (1 - a).sqrt() * eps, "t": t, "eps": eps})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = EpsNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return F.mse_loss(model(batch["x_t"], batch["t"]), batch["eps"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
