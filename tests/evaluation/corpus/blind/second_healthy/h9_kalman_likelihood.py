import math
import torch
from torch import nn

META = {"id": "h9_kalman_likelihood", "source": "state-space model notebook", "roots": [], "checks": [],
        "description": "healthy differentiable Kalman filter: dynamics, emission and noise learned by innovation likelihood, missing observations",
        "location": ""}


class LinearGaussianSSM(nn.Module):
    def __init__(self, dz=2, dy=3):
        super().__init__()
        self.A = nn.Parameter(0.8 * torch.eye(dz) + 0.05 * torch.randn(dz, dz))
        self.C = nn.Parameter(0.7 * torch.randn(dy, dz))
        self.log_q, self.log_r = nn.Parameter(torch.zeros(dz)), nn.Parameter(torch.zeros(dy))
        self.register_buffer("I", torch.eye(dz))

    def forward(self, y, seen):
        B, T, dy = y.shape
        m = y.new_zeros(B, self.A.shape[0], 1)
        P = self.I.expand(B, -1, -1)
        Q, R = torch.diag(self.log_q.exp()), torch.diag(self.log_r.exp())
        nll = 0.0
        for t in range(T):
            m = self.A @ m
            P = self.A @ P @ self.A.T + Q
            S = self.C @ P @ self.C.T + R
            e = y[:, t, :, None] - self.C @ m
            L = torch.linalg.cholesky(S)
            w = torch.linalg.solve_triangular(L, e, upper=False)
            l = 0.5 * w.pow(2).sum((1, 2)) + L.diagonal(dim1=1, dim2=2).log().sum(1) + 0.5 * dy * math.log(2 * math.pi)
            s = seen[:, t].float()
            nll = nll + (l * s)
            K = torch.cholesky_solve(self.C @ P, L).transpose(1, 2) * s[:, None, None]
            m = m + K @ e
            P = (self.I - K @ self.C) @ P
        return (nll / seen.sum(1) / dy).mean()


def simulate(n, g, T=8):
    A = torch.tensor([[0.95, 0.28], [-0.28, 0.95]])
    C = torch.tensor([[1.0, 0.0], [0.3, 1.0], [-0.5, 0.8]])
    z, ys = torch.randn(n, 2, generator=g), []
    for _ in range(T):
        z = z @ A.T + 0.1 * torch.randn(n, 2, generator=g)
        ys.append(z @ C.T + 0.1 * torch.randn(n, 3, generator=g))
    y = torch.stack(ys, 1)
    seen = torch.rand(n, T, generator=g) > 0.15
    seen[:, 0] = True
    return torch.where(seen[..., None], y, 0.0), seen


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [simulate(24, g) for _ in range(10)]
    ssm = LinearGaussianSSM()
    opt = torch.optim.Adam(ssm.parameters(), lr=3e-2)

    def step(batch):
        loss = ssm(*batch)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ssm.parameters(), 5.0)
        opt.step()
        return loss.item()

    return {"model": ssm, "optimizer": opt, "data": data, "step": step}
