import math
import torch
from torch import nn

META = {"id": "h3_deep_kernel_gp", "source": "healthy; deep kernel learning in float64",
        "roots": [], "checks": [], "description": "exact GP marginal likelihood per batch with Cholesky, double precision, may go below zero", "location": ""}


class DeepKernelGP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.feat = nn.Sequential(nn.Linear(d, 24), nn.Tanh(), nn.Linear(24, 2))
        self.log_ls = nn.Parameter(torch.zeros(2))
        self.log_amp = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, a, b):
        a, b = self.feat(a) / self.log_ls.exp(), self.feat(b) / self.log_ls.exp()
        sq = (a[:, None] - b[None]).pow(2).sum(-1)
        return (2 * self.log_amp).exp() * torch.exp(-0.5 * sq)

    def nll(self, x, y):
        n = len(x)
        K = self.kernel(x, x) + (self.log_noise.exp() ** 2 + 1e-6) * torch.eye(n, dtype=x.dtype)
        L = torch.linalg.cholesky(K)
        a = torch.cholesky_solve(y[:, None], L)
        return (0.5 * (y[:, None] * a).sum() + L.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 14)
    x = torch.randn(40 * 16, 4, generator=g, dtype=torch.float64)
    y = torch.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * torch.randn(len(x), generator=g, dtype=torch.float64)
    gp = DeepKernelGP(4).double()
    return {"model": gp, "optimizer": torch.optim.Adam(gp.parameters(), lr=1e-2),
            "data": list(zip(x.split(40), y.split(40))), "loss": lambda m, b: m.nll(*b)}
