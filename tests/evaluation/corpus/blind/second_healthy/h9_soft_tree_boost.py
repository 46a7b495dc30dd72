import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_soft_tree_boost", "source": "differentiable trees package", "roots": [], "checks": [],
        "description": "healthy ensemble of oblivious soft trees, data-aware thresholds, temperature annealing, log-normal target in log space",
        "location": ""}


class ObliviousTrees(nn.Module):
    def __init__(self, x, trees=24, depth=3):
        super().__init__()
        self.sel = nn.Parameter(torch.randn(trees, depth, x.shape[1]) * 0.5)
        rows = x[torch.randint(0, len(x), (trees * depth,))].view(trees, depth, -1)
        with torch.no_grad():
            thr = (rows * self.sel.softmax(-1)).sum(-1)
        self.thr = nn.Parameter(thr)
        self.leaf = nn.Parameter(torch.randn(trees, 2 ** depth) * 0.1)
        codes = torch.tensor([[(i >> d) & 1 for d in range(depth)] for i in range(2 ** depth)])
        self.register_buffer("codes", codes.float())
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x, temp):
        f = torch.einsum("bi,tdi->btd", x, self.sel.softmax(-1))
        p = torch.sigmoid((f - self.thr) / temp)[:, :, None]
        route = (self.codes * p + (1 - self.codes) * (1 - p)).prod(-1)
        return (route * self.leaf).sum((1, 2)) + self.bias


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    raw = torch.rand(1024, 7, generator=g) ** 2 * torch.tensor([1.0, 10, 100, 5, 5, 2000, 0.1])
    rank = raw.argsort(0).argsort(0).float() / 1023 * 2 - 1                  # quantile transform, as in NODE
    price = torch.exp(11 + 0.6 * (rank[:, 0] > 0.2).float() + 0.5 * (rank[:, 1] * rank[:, 2] > 0).float() - 0.4 * (rank[:, 5] < -0.3).float()
                      + 0.05 * torch.randn(1024, generator=g))
    logp = price.log()
    centre, spread = logp.mean(), logp.std()
    model = ObliviousTrees(rank)
    opt = torch.optim.Adam([{"params": [model.sel, model.thr], "lr": 2e-2}, {"params": [model.leaf, model.bias], "lr": 3e-2}])
    n = [0]

    def step(batch):
        x, p = batch
        temp = max(0.1, 0.4 * 0.99 ** n[0])
        n[0] += 1
        loss = F.mse_loss(model(x, temp), (p.log() - centre) / spread)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": list(zip(rank.split(64), price.split(64))), "step": step}
