import torch, torch.nn as nn, torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR

META = {"id": "h9_swa_cyclic", "source": "weight averaging example", "roots": [], "checks": [],
        "description": "healthy SWA: cyclic rate then SWALR, the average is kept beside the trained net, depthwise 1-D CNN on ECG-like beats",
        "location": ""}


class Beats(nn.Module):
    def __init__(self):
        super().__init__()
        def dw(i, o, s):
            return nn.Sequential(nn.Conv1d(i, i, 5, s, 2, groups=i, bias=False), nn.Conv1d(i, o, 1, bias=False), nn.BatchNorm1d(o), nn.Hardswish())
        self.net = nn.Sequential(nn.Conv1d(2, 16, 3, padding=1), dw(16, 24, 2), dw(24, 32, 2), nn.AdaptiveMaxPool1d(3), nn.Flatten(), nn.Linear(96, 3))

    def forward(self, x):
        return self.net(x)


def beats(n, g):
    y = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), n, True, generator=g)
    t = torch.linspace(-1, 1, 64)
    width = torch.tensor([0.05, 0.16, 0.05])[y][:, None]
    shift = 0.2 * torch.randn(n, 1, generator=g)
    qrs = torch.exp(-((t - shift) / width) ** 2)
    p = torch.exp(-((t - shift + 0.35) / 0.07) ** 2) * (y != 2).float()[:, None] * 0.5
    x = torch.stack([qrs + p, -0.6 * qrs + 0.4 * p], 1)
    return x + 0.06 * torch.randn(x.shape, generator=g) + 0.2 * torch.randn(n, 2, 1, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [beats(32, g) for _ in range(12)]
    freq = torch.cat([b[1] for b in data]).bincount().float()
    w = (freq.sum() / freq).sqrt()
    net = Beats()
    swa = AveragedModel(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    cyc = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.01, max_lr=0.08, step_size_up=10, mode="triangular2", cycle_momentum=False)
    clock = {"t": 0, "swa": None}

    def step(batch):
        x, y = batch
        net.train()
        loss = F.cross_entropy(net(x), y, weight=w)
        opt.zero_grad()
        loss.backward()
        opt.step()
        clock["t"] += 1
        if clock["t"] < 80:
            cyc.step()
        else:
            if clock["swa"] is None:
                clock["swa"] = SWALR(opt, swa_lr=0.01, anneal_epochs=5)
            clock["swa"].step()
            if clock["t"] % 4 == 0:
                swa.update_parameters(net)
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
