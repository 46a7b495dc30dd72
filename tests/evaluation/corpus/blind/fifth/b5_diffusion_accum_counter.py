"""Toy diffusion model (noise prediction on 2-d point sets) with accumulation and EMA."""
import copy
import torch
import torch.nn as nn

META = {
    "id": "b5_diffusion_accum_counter",
    "source": "CASES.md: taxonomy 53332663 (missing API call), TrainCheck pytorch-115607 (step skipped); own experience",
    "roots": ["missing-optimizer-step"],
    "description": "the micro-step counter is reset at the start of every call, so 'every second micro-step' never comes and optimizer.step() is never reached",
    "location": "DiffusionTrainer.train_step: self.micro_step = 0",
    "shows_in": "one-batch",
}


class EpsNet(nn.Module):
    def __init__(self, d=2, width=128):
        super().__init__()
        self.t_emb = nn.Linear(8, width)
        self.x_emb = nn.Linear(d, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, d)

    def forward(self, x, t):
        freq = 2.0 ** torch.arange(4)
        ang = t.unsqueeze(1) * freq
        return self.out(self.body(self.x_emb(x) + self.t_emb(torch.cat([ang.sin(), ang.cos()], 1))))


class DiffusionTrainer:
    def __init__(self, net, reset_counter, accumulate=2, ema_decay=0.99):
        self.net, self.ema = net, copy.deepcopy(net).requires_grad_(False)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
        self.accumulate, self.ema_decay = accumulate, ema_decay
        self.micro_step, self.reset_counter = 0, reset_counter

    def train_step(self, batch):
        if self.reset_counter:
            self.micro_step = 0
        x0, t, eps = batch
        alpha = torch.cos(0.5 * torch.pi * t).unsqueeze(1)
        sigma = torch.sin(0.5 * torch.pi * t).unsqueeze(1)
        loss = nn.functional.mse_loss(self.net(alpha * x0 + sigma * eps, t), eps)
        (loss / self.accumulate).backward()
        self.micro_step += 1
        if self.micro_step % self.accumulate == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            with torch.no_grad():
                for e, p in zip(self.ema.parameters(), self.net.parameters()):
                    e.lerp_(p, 1 - self.ema_decay)
        return loss


def swiss_points(n, g):
    a = 1.5 + 4.5 * torch.rand(n, generator=g)
    x0 = torch.stack([a * a.cos(), a * a.sin()], 1) / 4
    t = 0.3 + 0.7 * torch.rand(n, generator=g)
    return x0, t, torch.randn(n, 2, generator=g)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = list(zip(*[f.split(32) for f in swiss_points(6 * 32, g)]))
    net = EpsNet()
    trainer = DiffusionTrainer(net, reset_counter=not fixed)
    return {"model": net, "optimizer": trainer.optimizer, "data": data, "step": trainer.train_step}
