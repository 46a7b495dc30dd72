import torch
from torch import nn
from torch.utils.data import IterableDataset, DataLoader

META = {"id": "h9_tcn_revin", "source": "time-series forecasting toolkit", "roots": [], "checks": [],
        "description": "healthy causal TCN with reversible instance norm, drifting raw-scale series from an iterable dataset, masked MAE",
        "location": ""}


class Series(IterableDataset):
    def __init__(self, seed, n=480):
        self.seed, self.n = seed, n

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        t = torch.arange(40.0)
        for _ in range(self.n):
            r = torch.rand(5, generator=g)
            level = 10 ** (1 + 3 * r[0])
            y = level * (1 + 0.02 * (r[1] - 0.5) * t + 0.3 * torch.sin(6.2832 * t / 8 + 6.28 * r[2]) * (0.5 + r[3]))
            y = y + 0.03 * level * torch.randn(40, generator=g)
            valid = (torch.rand(8, generator=g) > 0.1).float()
            yield y[:32], y[32:], valid


class RevIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))

    def forward(self, x):
        m, s = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        return (x - m) / s * self.g + self.b, (m, s)


class TCN(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.rev = RevIN()
        self.inp = nn.Conv1d(1, c, 1)
        self.convs = nn.ModuleList([nn.utils.parametrizations.weight_norm(nn.Conv1d(c, c, 3, dilation=2 ** i)) for i in range(4)])
        self.out = nn.Linear(c, 8)

    def forward(self, x):
        z, (m, s) = self.rev(x)
        h = self.inp(z[:, None])
        for k, conv in enumerate(self.convs):
            h = h + nn.functional.gelu(conv(nn.functional.pad(h, (2 * 2 ** k, 0))))
        y = self.out(h[:, :, -1])
        return (y - self.rev.b) / self.rev.g * s + m, s


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    loader = DataLoader(Series(seed), batch_size=32)
    model = TCN()
    opt = torch.optim.RAdam(model.parameters(), lr=8e-3)

    def step(batch):
        x, y, valid = batch
        pred, s = model(x)
        loss = (((pred - y) / s).abs() * valid).sum() / valid.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": list(loader), "step": step}
