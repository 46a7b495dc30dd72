import torch
from torch import nn

META = {"id": "h9_lista_dictionary", "source": "sparse coding repo", "roots": [], "checks": [],
        "description": "healthy dictionary learning: unrolled ISTA encoder (learned thresholds), unit-norm atoms by projection, L1 code cost",
        "location": ""}


class LISTA(nn.Module):
    def __init__(self, d=24, atoms=40, depth=4):
        super().__init__()
        D = torch.randn(d, atoms)
        self.D = nn.Parameter(D / D.norm(dim=0))
        L = torch.linalg.matrix_norm(self.D.detach(), 2) ** 2
        self.We = nn.Parameter(self.D.detach().T / L)
        self.S = nn.Parameter(torch.eye(atoms) - self.D.detach().T @ self.D.detach() / L)
        self.theta = nn.Parameter(torch.full((depth, atoms), 0.1) / L)

    def forward(self, x):
        b = x @ self.We.T
        z = soft(b, self.theta[0])
        for th in self.theta[1:]:
            z = soft(b + z @ self.S.T, th)
        return z, z @ self.D.T


def soft(c, th):
    return c.sign() * (c.abs() - th).relu()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    true = torch.randn(24, 40, generator=g)
    true = true / true.norm(dim=0)
    code = torch.randn(1024, 40, generator=g) * (torch.rand(1024, 40, generator=g) < 0.08)
    x = code @ true.T * 2 + 0.02 * torch.randn(1024, 24, generator=g)
    model = LISTA()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)

    def step(xb):
        z, rec = model(xb)
        loss = 0.5 * (xb - rec).pow(2).sum(1).mean() + 0.1 * z.abs().sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            model.D.div_(model.D.norm(dim=0, keepdim=True))
            model.theta.clamp_(min=1e-3)
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": list(x.split(64)), "step": step}
