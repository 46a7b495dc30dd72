import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_cyclegan_pool",
        "source": "CycleGAN forks: the image buffer that is meant for the discriminator hands its stored images to the generator losses as well",
        "roots": ["disconnected-graph", "empty-optimizer-steps"], "checks": [],
        "description": "Generator A->B only sees its own output through the buffer, which returns detached tensors, so it never gets a gradient from the cycle or adversarial term.",
        "location": "CycleTrainer.step: fake = self.pool.push(...)"}


class ImagePool:
    """keeps the latest fakes"""

    def __init__(self, size):
        self.size, self.store = size, []

    def push(self, images):
        kept = images.data
        self.store = (self.store + list(kept))[-self.size:]
        return torch.stack(self.store[-len(images):])


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class CycleTrainer:
    def __init__(self, nets, opt_g, opt_d, fixed):
        self.nets, self.opt_g, self.opt_d, self.fixed = nets, opt_g, opt_d, fixed
        self.pool = ImagePool(64)

    def step(self, batch):
        real_a, real_b = batch
        n = self.nets
        fake = n["g_ab"](real_a)
        pooled = self.pool.push(fake)
        if not self.fixed:
            fake = pooled
        back = n["g_ba"](fake)
        cycle = F.l1_loss(back, real_a)
        d_fake = n["d_b"](fake)
        adv = F.mse_loss(d_fake, torch.ones_like(d_fake))
        self.opt_g.zero_grad()
        (10 * cycle + 0.5 * adv).backward()
        self.opt_g.step()

        self.opt_d.zero_grad()
        dr, df = n["d_b"](real_b), n["d_b"](pooled)
        loss_d = 0.5 * (F.mse_loss(dr, torch.ones_like(dr)) + F.mse_loss(df, torch.zeros_like(df)))
        loss_d.backward()
        self.opt_d.step()
        return (10 * cycle + 0.5 * adv).item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 1)
    mix = torch.randn(3, 8, generator=gen)
    rot = torch.linalg.qr(torch.randn(8, 8, generator=gen))[0]
    data = []
    for _ in range(16):
        a = torch.tanh(torch.randn(32, 3, generator=gen) @ mix)
        b = torch.tanh(torch.randn(32, 3, generator=gen) @ mix) @ rot + 0.5
        data.append((a, b))
    nets = nn.ModuleDict({"g_ab": mlp(8, 8), "g_ba": mlp(8, 8), "d_b": mlp(8, 1, 32)})
    opt_g = torch.optim.Adam(list(nets["g_ab"].parameters()) + list(nets["g_ba"].parameters()), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(nets["d_b"].parameters(), lr=5e-4, betas=(0.5, 0.999))
    trainer = CycleTrainer(nets, opt_g, opt_d, fixed)
    return {"model": nets, "optimizer": [opt_g, opt_d], "data": data, "step": trainer.step}
