import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_eval_bn_stats",
        "source": "metric learning repos: gallery/query features extracted under no_grad, but without eval()",
        "roots": ["evaluation-changes-state", "wrong-mode"], "checks": ["evaluates_cleanly"],
        "description": "Features for validation are taken in training mode under no_grad only; BatchNorm uses batch statistics and its running statistics move with validation data.",
        "location": "Evaluator.features"}


class EmbedNet(nn.Module):
    def __init__(self, d=20, out=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return F.normalize(self.body(x), dim=1)


class Evaluator:
    def __init__(self, net, proxies, fixed):
        self.net, self.proxies, self.fixed = net, proxies, fixed

    @torch.no_grad()
    def features(self, loader):
        mode = self.net.training
        if self.fixed:
            self.net.eval()
        pairs = [(self.net(x), y) for x, y in loader]
        self.net.train(mode)
        return torch.cat([f for f, _ in pairs]), torch.cat([y for _, y in pairs])

    def __call__(self, loader):
        f, y = self.features(loader)
        sim = f @ F.normalize(self.proxies.detach(), dim=1).t()
        return F.cross_entropy(8 * sim, y).item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 33)
    ident = torch.randn(6, 20, generator=g)

    def batches(n):
        out = []
        for _ in range(n):
            y = torch.randint(0, 6, (32,), generator=g)
            out.append((ident[y] + 0.9 * torch.randn(32, 20, generator=g), y))
        return out

    data, val = batches(16), batches(5)
    net = EmbedNet()
    net.proxies = nn.Parameter(torch.randn(6, 16))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(8 * model(x) @ F.normalize(model.proxies, dim=1).t(), y)

    return {"model": net, "optimizer": opt, "data": data, "val": val, "loss": loss, "evaluate": Evaluator(net, net.proxies, fixed)}
