"""WGAN with gradient penalty."""
import torch
import torch.nn as nn

META = {
    "id": "h_wgan_gp",
    "description": 'The critic is trained three times per generator step; its loss may be negative and has no natural zero; the penalty needs second-order gradients.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        x = torch.randn(32, 2)
        data.append(torch.stack([x[:, 0] + 2, 0.3 * x[:, 1] + 0.5 * x[:, 0] ** 2], 1))
    G = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    C = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
    model = nn.ModuleDict({"generator": G, "critic": C})
    opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.9))
    opt_c = torch.optim.Adam(C.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def penalty(real, fake):
        a = torch.rand(len(real), 1)
        mid = (a * real + (1 - a) * fake).requires_grad_(True)
        grad = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)[0]
        return (grad.norm(dim=1) - 1).pow(2).mean()

    def step(real):
        for _ in range(3):
            fake = G(torch.randn(len(real), 4)).detach()
            loss_c = C(fake).mean() - C(real).mean() + 2 * penalty(real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -C(G(torch.randn(len(real), 4))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        return loss_c

    return {"model": model, "optimizer": [opt_c, opt_g], "data": data, "step": step}
