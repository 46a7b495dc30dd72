"""Paired image translation (pix2pix style): L1 plus adversarial loss, two optimizers."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_sketch_gan",
    "source": "GAN loops with the generator step first and one zero_grad for the discriminator at the top (forum, several pix2pix ports)",
    "roots": ["missing-zero-grad"],
    "checks": [],
    "description": "The generator's backward fills the discriminator's gradients, and these are not cleared before the discriminator's own backward and step.",
    "location": "Pix2Pix.optimize: self.opt_d.zero_grad() comes before the generator update",
}


class Generator(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(c, c, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(c, 1, 3, padding=1), nn.Tanh(),
        )

    def forward(self, a):
        return self.net(a)


class Discriminator(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, c, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(c, 1, 3, padding=1),
        )

    def forward(self, a, b):
        return self.net(torch.cat([a, b], dim=1))


class Pix2Pix(nn.Module):
    def __init__(self, clear_again):
        super().__init__()
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.clear_again = clear_again

    @staticmethod
    def gan(pred, real):
        return F.mse_loss(pred, torch.full_like(pred, 1.0 if real else 0.0))

    def optimize(self, batch):
        a, b = batch
        self.opt_g.zero_grad()
        self.opt_d.zero_grad()
        fake = self.G(a)
        loss_g = self.gan(self.D(a, fake), True) * 0.5 + 10 * F.l1_loss(fake, b)
        loss_g.backward()
        self.opt_g.step()

        if self.clear_again:
            self.opt_d.zero_grad()
        loss_d = 0.5 * (self.gan(self.D(a, b), True) + self.gan(self.D(a, fake.detach()), False))
        loss_d.backward()
        self.opt_d.step()
        return loss_g


def pairs(n, gen):
    g = torch.linspace(-1, 1, 10)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    th = 3.14 * torch.rand(n, 1, 1, generator=gen)
    off = torch.rand(n, 1, 1, generator=gen) - 0.5
    a = torch.sin(3 * (xx * th.cos() + yy * th.sin()) + off)
    b = torch.tanh(2 * a.roll(1, dims=2) - 0.5 * a)
    return a.unsqueeze(1), b.unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [pairs(16, gen) for _ in range(8)]
    system = Pix2Pix(clear_again=fixed)
    return {
        "model": system,
        "optimizer": {"generator": system.opt_g, "discriminator": system.opt_d},
        "data": data,
        "step": system.optimize,
    }
