import math
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_ring_gan", "source": "healthy; toy mixture GAN of many GAN repositories",
        "roots": [], "checks": [], "description": "non-saturating GAN on an ellipse, two Adams with beta1 = 0.5", "location": ""}


def mlp(*sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 99)
    phi = torch.rand(64 * 20, generator=g) * 2 * math.pi
    real = torch.stack([2 * phi.cos() + 0.5, phi.sin() - 0.3], 1) + 0.05 * torch.randn(64 * 20, 2, generator=g)
    G, D = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1)
    opts = {"g": torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99)),
            "d": torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))}

    def step(x):
        fake = G(torch.randn(len(x), 4))
        d_loss = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean()
        opts["d"].zero_grad()
        d_loss.backward()
        opts["d"].step()
        D.requires_grad_(False)
        g_loss = F.softplus(-D(fake)).mean()
        opts["g"].zero_grad()
        g_loss.backward()
        opts["g"].step()
        D.requires_grad_(True)
        return (d_loss + g_loss).item()

    return {"model": {"generator": G, "discriminator": D}, "optimizer": opts, "data": list(real.split(64)), "step": step}
