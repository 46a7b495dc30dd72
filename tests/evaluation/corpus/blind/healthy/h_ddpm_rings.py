"""DDPM noise prediction on 2-D rings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_ddpm_rings",
    "description": 'Random timesteps and noise each step: a noisy loss with a floor well above zero; output layer initialised to zero.',
    "roots": [],
}


class Denoiser(nn.Module):
    def __init__(self, T=50):
        super().__init__()
        self.t_emb = nn.Embedding(T, 32)
        self.inp = nn.Linear(2, 64)
        self.t_proj = nn.Linear(32, 64)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.out = nn.Linear(64, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.t_proj(self.t_emb(t))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    T = 50
    abar = torch.cumprod(1 - torch.linspace(1e-3, 0.2, T), 0)
    data = []
    for _ in range(8):
        a = 6.2832 * torch.rand(64)
        data.append(torch.stack([a.cos(), a.sin()], 1))
    model = Denoiser(T)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model, x0):
        t = torch.randint(0, T, (len(x0),))
        eps = torch.randn_like(x0)
        xt = abar[t, None].sqrt() * x0 + (1 - abar[t, None]).sqrt() * eps
        return F.mse_loss(model(xt, t), eps)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
