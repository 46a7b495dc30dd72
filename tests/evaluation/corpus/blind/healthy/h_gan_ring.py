"""Small GAN on a ring of Gaussians."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_gan_ring",
    "description": "Two optimizers that pull against each other, non-saturating loss; the discriminator's loss hovers near 2 log 2, which is where it belongs.",
    "roots": [],
}


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ang = torch.arange(8) * (2 * math.pi / 8)
    modes = torch.stack([ang.cos(), ang.sin()], 1) * 2
    data = [modes[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 2) for _ in range(8)]
    model = nn.ModuleDict({"G": mlp(4, 2), "D": mlp(2, 1)})
    G, D = model["G"], model["D"]
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def step(real):
        fake = G(torch.randn(len(real), 4))
        loss_d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = F.softplus(-D(fake)).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        return loss_d

    return {"model": model, "optimizer": [opt_d, opt_g], "data": data, "step": step}
