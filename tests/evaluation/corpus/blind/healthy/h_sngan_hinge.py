"""Hinge GAN on 1-D signals with spectral norm."""
import copy

import torch
import torch.nn as nn

META = {
    "id": "h_sngan_hinge",
    "description": "Spectral-norm parametrisations in the discriminator (weights move although the parameter is called 'original'), hinge loss, TTUR: D's rate is 4 times G's; an EMA copy of G is kept for evaluation.",
    "roots": [],
}


def sn(layer):
    return nn.utils.parametrizations.spectral_norm(layer)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.linspace(0, 1, 16)
    data = []
    for _ in range(6):
        ph, am = 6.28 * torch.rand(32, 1), 0.5 + 0.5 * torch.rand(32, 1)
        data.append(am * torch.sin(6.28 * t + ph))
    G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16), nn.Tanh())
    D = nn.Sequential(sn(nn.Linear(16, 64)), nn.LeakyReLU(0.1), sn(nn.Linear(64, 64)), nn.LeakyReLU(0.1), sn(nn.Linear(64, 1)))
    G_ema = copy.deepcopy(G).requires_grad_(False)
    model = nn.ModuleDict({"G": G, "D": D, "G_ema": G_ema})
    opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))

    def step(real):
        opt_d.zero_grad()
        with torch.no_grad():
            fake = G(torch.randn(len(real), 8))
        loss_d = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake)).mean()
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        D.requires_grad_(False)
        loss_g = -D(G(torch.randn(len(real), 8))).mean()
        loss_g.backward()
        opt_g.step()
        D.requires_grad_(True)
        with torch.no_grad():
            for p, q in zip(G.parameters(), G_ema.parameters()):
                q.lerp_(p, 0.01)
        return loss_d

    return {"model": model, "optimizer": [opt_d, opt_g], "data": data, "step": step}
