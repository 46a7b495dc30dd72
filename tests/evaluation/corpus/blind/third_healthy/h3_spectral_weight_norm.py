import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

META = {"id": "h3_spectral_weight_norm", "source": "healthy; conditional image-to-image GAN with L1 term",
        "roots": [], "checks": [], "description": "weight-normed generator with L1 weight 10, spectral-normed hinge discriminator", "location": ""}


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = weight_norm(nn.Conv2d(1, 16, 3, padding=1))
        self.c2 = weight_norm(nn.Conv2d(16, 16, 3, padding=1))
        self.c3 = weight_norm(nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x):
        h = F.leaky_relu(self.c1(x), 0.2)
        return self.c3(h + F.leaky_relu(self.c2(h), 0.2))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = spectral_norm(nn.Conv2d(2, 16, 3, stride=2, padding=1))
        self.c2 = spectral_norm(nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x, y):
        return self.c2(F.leaky_relu(self.c1(torch.cat([x, y], 1)), 0.2)).mean((1, 2, 3))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 33)
    x = torch.randn(16 * 20, 1, 8, 8, generator=g)
    k = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]]).view(1, 1, 3, 3) / 4
    y = torch.tanh(F.conv2d(x, k, padding=1))
    G, D = Generator(), Critic()
    og = torch.optim.Adam(G.parameters(), lr=4e-3, betas=(0.5, 0.999))
    od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def step(batch):
        a, b = batch
        fake = G(a)
        d = F.relu(1 - D(a, b)).mean() + F.relu(1 + D(a, fake.detach())).mean()
        od.zero_grad()
        d.backward()
        od.step()
        l1 = F.l1_loss(fake, b)
        gl = 10 * l1 - 0.1 * D(a, fake).mean()
        og.zero_grad()
        gl.backward()
        og.step()
        return l1.item()

    return {"model": {"G": G, "D": D}, "optimizer": [og, od], "data": list(zip(x.split(16), y.split(16))), "step": step}
