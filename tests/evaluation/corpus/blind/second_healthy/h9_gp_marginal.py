import math
import torch
from torch import nn

META = {"id": "h9_gp_marginal", "source": "Gaussian process from scratch", "roots": [], "checks": [],
        "description": "healthy exact GP in float64: ARD kernel plus linear mean, negative marginal likelihood per datum, one full batch",
        "location": ""}


class ExactGP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.log_len = nn.Parameter(torch.zeros(d))
        self.log_amp = nn.Parameter(torch.tensor(0.0))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))
        self.mean = nn.Linear(d, 1)
        nn.init.zeros_(self.mean.weight), nn.init.zeros_(self.mean.bias)
        self.double()

    def kernel(self, a, b):
        a, b = a / self.log_len.exp(), b / self.log_len.exp()
        d2 = (a[:, None] - b[None]).pow(2).sum(-1)
        return (2 * self.log_amp).exp() * torch.exp(-0.5 * d2)

    def nll(self, x, y):
        n = len(x)
        K = self.kernel(x, x) + (2 * self.log_noise).exp() * torch.eye(n, dtype=x.dtype) + 1e-8 * torch.eye(n, dtype=x.dtype)
        L = torch.linalg.cholesky(K)
        r = (y - self.mean(x).squeeze(-1))[:, None]
        a = torch.cholesky_solve(r, L)
        return (0.5 * (r * a).sum() + L.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(60, 3, generator=g, dtype=torch.float64) * 4 - 2
    y = torch.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + 0.05 * torch.randn(60, generator=g, dtype=torch.float64)  # x2 is irrelevant
    gp = ExactGP(3)
    opt = torch.optim.Rprop(gp.parameters(), lr=0.02, step_sizes=(1e-6, 0.1))
    return {"model": gp, "optimizer": opt, "data": [(x, y)], "loss": lambda m, b: m.nll(*b)}
