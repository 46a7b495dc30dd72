import math, torch, torch.nn as nn
META = {"id": "b8_ddpm_warmup", "source": "small DDPM repositories with a LambdaLR warm-up", "roots": ["scheduler-misuse", "lr-too-low"], "checks": [],
 "description": "the warm-up scheduler is constructed anew in each training step, so it always sits at its first value and the learning rate never warms up",
 "location": "train_step: LambdaLR created inside"}

def temb(t, d):
    f = torch.exp(-math.log(1000.) * torch.arange(d // 2) / (d // 2))
    a = t[:, None].float() * f
    return torch.cat([a.sin(), a.cos()], 1)

class Denoiser(nn.Module):
    def __init__(self, d=2, h=96):
        super().__init__()
        self.t = nn.Linear(16, h)
        self.i = nn.Linear(d, h)
        self.m = nn.Sequential(nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))
    def forward(self, x, t):
        return self.m(self.i(x) + self.t(temb(t, 16)))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    T = 50
    abar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, T), 0)
    data = []
    for _ in range(8):
        th = torch.rand(48) * 2 * math.pi
        x0 = torch.stack([th.cos(), th.sin()], 1)
        data.append((x0, torch.randint(0, T, (48,)), torch.randn(48, 2)))
    net = Denoiser()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    warm = lambda i: min(1.0, (i + 0.01) / 10)
    for g in opt.param_groups:
        g["initial_lr"] = g["lr"]
    sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)
    def train_step(batch):
        nonlocal sched
        x0, t, eps = batch
        if not fixed:
            sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)
        a = abar[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
        opt.zero_grad()
        loss = ((net(xt, t) - eps) ** 2).mean()
        loss.backward()
        opt.step()
        sched.step()
        return loss.detach()
    return {"model": net, "optimizer": opt, "data": data, "step": train_step}
