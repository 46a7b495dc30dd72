import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_eval_ema_swap",
        "source": "diffusion / detection repos evaluating with EMA weights: copy_to without restore",
        "roots": ["evaluation-changes-state"], "checks": ["evaluates_cleanly"],
        "description": "The evaluation copies the averaged weights into the model and does not put the trained ones back, so the training goes on from the average.",
        "location": "evaluate in build"}


class WeightAverage:
    def __init__(self, params, decay=0.97):
        self.params, self.decay = list(params), decay
        self.shadow = [p.detach().clone() for p in self.params]
        self.backup = None

    @torch.no_grad()
    def update(self):
        for s, p in zip(self.shadow, self.params):
            s.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def apply(self):
        self.backup = [p.clone() for p in self.params]
        for p, s in zip(self.params, self.shadow):
            p.copy_(s)

    @torch.no_grad()
    def restore(self):
        for p, b in zip(self.params, self.backup):
            p.copy_(b)
        self.backup = None


class Denoiser(nn.Module):
    """predicts the clean signal from a noisy one and its noise level"""

    def __init__(self, n=16):
        super().__init__()
        self.level = nn.Linear(1, 32)
        self.inp = nn.Linear(n, 64)
        self.scale = nn.Linear(32, 64)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, n))

    def forward(self, x, sigma):
        return self.out(self.inp(x) + self.scale(torch.sin(self.level(sigma))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 34)
    basis = torch.randn(3, 16, generator=g)

    def batch():
        clean = torch.tanh(torch.randn(32, 3, generator=g) @ basis)
        sigma = 0.05 + 0.4 * torch.rand(32, 1, generator=g)
        return {"noisy": clean + sigma * torch.randn(32, 16, generator=g), "sigma": sigma, "clean": clean}

    data, val = [batch() for _ in range(20)], [batch() for _ in range(4)]
    net = Denoiser()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    avg = WeightAverage(net.parameters())

    def step(b):
        loss = F.mse_loss(net(b["noisy"], b["sigma"]), b["clean"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg.update()
        return loss.item()

    @torch.no_grad()
    def evaluate(loader):
        avg.apply()
        total = count = 0
        for b in loader:
            err = F.mse_loss(net(b["noisy"], b["sigma"]), b["clean"], reduction="none").mean(1)
            total, count = total + err.sum().item(), count + len(err)
        if fixed:
            avg.restore()
        return total / count

    return {"model": net, "optimizer": opt, "data": data, "val": val, "step": step, "evaluate": evaluate}
