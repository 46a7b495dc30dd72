import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_probe_monitor",
        "source": "training loops that compute a running clean accuracy inside the step and forget to switch back",
        "roots": ["wrong-mode"], "checks": [],
        "description": "The monitor called in each step puts the network into eval mode and does not restore it, so from the second step on BatchNorm uses the statistics of the first batch only and dropout is off.",
        "location": "Monitor.__call__"}


class Monitor:
    def __init__(self, net, every, fixed):
        self.net, self.every, self.fixed, self.n, self.log = net, every, fixed, 0, []

    @torch.no_grad()
    def __call__(self, x, y):
        if self.n % self.every == 0:
            was = self.net.training
            self.net.eval()
            self.log.append((self.net(x).argmax(1) == y).float().mean().item())
            self.net.train(was and self.fixed)
        self.n += 1


class SensorNet(nn.Module):
    def __init__(self, ch=6, classes=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(ch, 24, 5, padding=2), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(32, classes))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 31)
    freq = torch.tensor([0.3, 0.7, 1.2, 2.0])
    t = torch.arange(24.0)

    def batch():
        y = torch.randint(0, 4, (32,), generator=g)
        phase = 6.28 * torch.rand(32, 6, 1, generator=g)
        x = torch.sin(freq[y][:, None, None] * t + phase) + 0.7 * torch.randn(32, 6, 24, generator=g)
        return x, y

    data = [batch() for _ in range(16)]
    val = [batch() for _ in range(4)]
    net = SensorNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    monitor = Monitor(net, 1, fixed)

    def step(b):
        x, y = b
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        monitor(x, y)
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "val": val, "step": step}
