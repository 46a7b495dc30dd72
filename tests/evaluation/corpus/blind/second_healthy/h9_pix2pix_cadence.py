import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_pix2pix_cadence", "source": "image translation repo", "roots": [], "checks": [],
        "description": "healthy conditional GAN with L1 term, spectral norm, lazy R1 every 4 steps, generator every 2nd step",
        "location": ""}


class G(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.e1, self.e2 = nn.Conv2d(1, c, 4, 2, 1), nn.Conv2d(c, c, 4, 2, 1)
        self.d2 = nn.ConvTranspose2d(c, c, 4, 2, 1)
        self.d1 = nn.ConvTranspose2d(2 * c, 1, 4, 2, 1)
        self.n = nn.InstanceNorm2d(c, affine=True)

    def forward(self, x):
        a = F.leaky_relu(self.e1(x), 0.2)
        b = F.leaky_relu(self.n(self.e2(a)), 0.2)
        u = F.relu(self.d2(b))
        return torch.tanh(self.d1(torch.cat([u, a], 1)))


def make_d(c=16):
    sn = nn.utils.parametrizations.spectral_norm
    return nn.Sequential(sn(nn.Conv2d(2, c, 4, 2, 1)), nn.LeakyReLU(0.2), sn(nn.Conv2d(c, c, 4, 2, 1)), nn.LeakyReLU(0.2),
                         nn.Conv2d(c, 1, 3, 1, 1))


def pairs(n, g):
    z = F.interpolate(torch.randn(n, 1, 4, 4, generator=g), size=16, mode="bilinear")
    outline = (z > 0).float() * 2 - 1
    return outline, torch.tanh(1.5 * F.avg_pool2d(outline, 5, 1, 2))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [pairs(16, g) for _ in range(12)]
    nets = nn.ModuleDict({"gen": G(), "disc": make_d()})
    opt_g = torch.optim.Adam(nets["gen"].parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(nets["disc"].parameters(), lr=1e-3, betas=(0.5, 0.999))
    state = {"it": 0, "l1": 1.0}

    def step(batch):
        x, y = batch
        gen, disc = nets["gen"], nets["disc"]
        with torch.no_grad():
            fake = gen(x)
        real_in = torch.cat([x, y], 1).requires_grad_(state["it"] % 4 == 0)
        dr, df = disc(real_in), disc(torch.cat([x, fake], 1))
        d_loss = F.softplus(-dr).mean() + F.softplus(df).mean()
        if real_in.requires_grad:
            gr, = torch.autograd.grad(dr.sum(), real_in, create_graph=True)
            d_loss = d_loss + 4 * 0.05 * gr.pow(2).sum((1, 2, 3)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        if state["it"] % 2 == 0:
            disc.requires_grad_(False)
            fake = gen(x)
            l1 = F.l1_loss(fake, y)
            (10 * l1 - 0.1 * F.logsigmoid(disc(torch.cat([x, fake], 1))).mean()).backward()
            opt_g.step()
            opt_g.zero_grad()
            disc.requires_grad_(True)
            state["l1"] = l1.item()
        state["it"] += 1
        return state["l1"]

    return {"model": nets, "optimizer": [opt_g, opt_d], "data": data, "step": step}
