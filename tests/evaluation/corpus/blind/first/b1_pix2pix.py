"""Small conditional GAN (pix2pix) that turns edge maps into filled shapes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_pix2pix",
    "source": "PyTorch forum classic: fake.detach() reused in the generator step",
    "roots": ["disconnected-graph"],
    "description": "the generator loss is computed from the detached fake images, so the generator gets no gradient",
    "location": "step: fake = fake.detach() before the generator loss",
    "shows_in": "one-batch",
}


class Generator(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.down = nn.Conv2d(1, ch, 4, stride=2, padding=1)
        self.mid = nn.Conv2d(ch, 2 * ch, 4, stride=2, padding=1)
        self.up1 = nn.ConvTranspose2d(2 * ch, ch, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(2 * ch, 1, 4, stride=2, padding=1)

    def forward(self, x):
        d = F.leaky_relu(self.down(x), 0.2)
        m = F.leaky_relu(self.mid(d), 0.2)
        u = F.relu(self.up1(m))
        return torch.tanh(self.up2(torch.cat([u, d], 1)))


class Discriminator(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, ch, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(ch, 1, 4, 2, 1))

    def forward(self, edge, img):
        return self.net(torch.cat([edge, img], 1))


def make_shapes(n, size=12):
    img = torch.full((n, 1, size, size), -0.9)
    edge = torch.full((n, 1, size, size), -1.0)
    for i in range(n):
        y, x = torch.randint(0, 5, (2,)).tolist()
        h, w = torch.randint(4, 8, (2,)).tolist()
        img[i, 0, y:y + h, x:x + w] = 0.9
        edge[i, 0, y:y + h, x:x + w] = 1.0
        edge[i, 0, y + 1:y + h - 1, x + 1:x + w - 1] = -1.0
    return edge, img


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    edge, img = make_shapes(6 * 8)
    data = list(zip(edge.split(8), img.split(8)))
    model = nn.ModuleDict({"G": Generator(), "D": Discriminator()})
    G, D = model["G"], model["D"]
    opt_g = torch.optim.Adam(G.parameters(), lr=4e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()

    def step(batch):
        edge, real = batch
        fake = G(edge)
        detached = fake.detach()
        real_score, fake_score = D(edge, real), D(edge, detached)
        d_loss = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        if not fixed:
            fake = detached
        score = D(edge, fake)
        g_loss = F.l1_loss(fake, real) + 0.01 * bce(score, torch.ones_like(score))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        return g_loss.detach()

    return {"model": model, "optimizer": opt_g, "data": data, "step": step}
