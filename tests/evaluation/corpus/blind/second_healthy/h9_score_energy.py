import torch
from torch import nn

META = {"id": "h9_score_energy", "source": "energy-based model notebook", "roots": [], "checks": [],
        "description": "healthy energy model trained by denoising score matching with double backward over several noise levels",
        "location": ""}


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 80), nn.SiLU(), nn.Linear(80, 80), nn.SiLU(), nn.Linear(80, 1, bias=False))

    def score(self, x, sigma):
        x = x.detach().requires_grad_(True)
        e = self.f(torch.cat([x / (1 + sigma ** 2).sqrt(), sigma.log()], 1)).sum()
        return -torch.autograd.grad(e, x, create_graph=self.training)[0]


def ring(n, g):
    a = torch.rand(n, generator=g) * 6.2832
    r = 1 + 0.5 * (torch.rand(n, generator=g) < 0.5).float()
    return torch.stack([r * a.cos(), r * a.sin()], 1)


def loss_fn(model, x):
    model.train()
    sigma = torch.exp(torch.rand(len(x), 1) * 2.3 - 1.9)
    eps = torch.randn_like(x)
    s = model.score(x + sigma * eps, sigma)
    return (sigma * s + eps).pow(2).sum(1).mean() / 2


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [ring(64, g) for _ in range(12)]
    model = Energy()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98))
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 800, eta_min=5e-4)
    return {"model": model, "optimizer": opt, "data": data, "loss": loss_fn, "scheduler": sched}
