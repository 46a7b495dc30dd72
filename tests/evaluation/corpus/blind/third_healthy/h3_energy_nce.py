import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_energy_nce", "source": "healthy; noise-contrastive estimation of an energy model",
        "roots": [], "checks": [], "description": "energy net with learned log-partition told apart from Gaussian noise", "location": ""}


class Energy(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 64), nn.Softplus(), nn.Linear(64, 64), nn.Softplus(), nn.Linear(64, 1, bias=False))
        self.log_z = nn.Parameter(torch.zeros(()))

    def log_density(self, x):
        return -self.f(x).squeeze(-1) - self.log_z


class NCE:
    def __init__(self, scale, ratio):
        self.q = torch.distributions.Normal(0.0, scale)
        self.ratio = ratio

    def __call__(self, model, x):
        noise = self.q.sample((len(x) * self.ratio, x.shape[1]))
        nu = torch.log(torch.tensor(float(self.ratio)))

        def logit(v):
            return model.log_density(v) - self.q.log_prob(v).sum(-1) - nu

        pos = F.logsigmoid(logit(x)).mean()
        neg = F.logsigmoid(-logit(noise)).mean() * self.ratio
        return -(pos + neg)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 3)
    z = torch.randn(48 * 20, 1, generator=g)
    x = torch.cat([z, z ** 2 - 1, -z], 1) + 0.15 * torch.randn(48 * 20, 3, generator=g)
    m = Energy(3)
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=4e-3),
            "data": list(x.split(48)), "loss": NCE(1.5, 4)}
