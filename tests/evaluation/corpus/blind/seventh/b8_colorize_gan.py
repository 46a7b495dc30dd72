import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_colorize_gan", "source": "pix2pix-like colourisation, one loop for G and D", "roots": ["gradients-cleared-before-step"], "checks": [],
 "description": "before the discriminator's backward all gradients are cleared, the generator's too, which has not stepped yet; the generator then steps without gradients",
 "location": "Pix2Pix.optimize"}

class Gen(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(16, 16, 3, padding=1),
                                 nn.LeakyReLU(0.2), nn.Conv2d(16, 2, 1), nn.Tanh())
    def forward(self, g): return self.net(g)

class Pix2Pix:
    def __init__(self, fixed):
        self.fixed = fixed
        self.G = Gen()
        self.D = nn.Sequential(nn.Conv2d(3, 8, 4, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=5e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=5e-4, betas=(0.5, 0.999))
    def clear(self, *opts):
        for o in opts: o.zero_grad()
    def optimize(self, batch):
        gray, ab = batch
        fake = self.G(gray)
        self.clear(self.opt_g, self.opt_d)
        pf = self.D(torch.cat([gray, fake], 1))
        rec = F.mse_loss(fake, ab)
        loss_g = 0.01 * ((pf - 1) ** 2).mean() + 10 * rec
        loss_g.backward()
        if self.fixed:
            self.clear(self.opt_d)
        else:
            self.clear(self.opt_d, self.opt_g)
        pr, pf = self.D(torch.cat([gray, ab], 1)), self.D(torch.cat([gray, fake.detach()], 1))
        loss_d = 0.5 * (((pr - 1) ** 2).mean() + (pf ** 2).mean())
        loss_d.backward()
        self.opt_g.step()
        self.opt_d.step()
        return loss_g.detach()

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        g = F.interpolate(torch.randn(16, 1, 4, 4), size=(10, 10), mode="bilinear")
        data.append((g, torch.cat([torch.tanh(2 * g) * 0.7, torch.cos(2 * g) * 0.6], 1)))
    gan = Pix2Pix(fixed)
    return {"model": gan.G, "optimizer": gan.opt_g, "data": data, "step": gan.optimize}
