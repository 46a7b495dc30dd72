import torch
import torch.nn as nn

META = {"id": "n10_houseprice_groups",
        "source": "own Optimizer subclasses with an overridden zero_grad, written for one parameter group and later used with two",
        "roots": ["missing-zero-grad"], "checks": [],
        "description": "The optimizer's own zero_grad clears only the first parameter group; the second group's gradients pile up over all steps.",
        "location": "HeavyBall.zero_grad"}


class HeavyBall(torch.optim.Optimizer):
    """heavy-ball SGD with decoupled decay"""

    def __init__(self, params, lr=1e-2, momentum=0.9, decay=0.0, fixed=False):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=decay))
        self._groups = slice(None) if fixed else slice(1)

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups[self._groups]:
            for p in group["params"]:
                p.grad = None

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buf = self.state[p].setdefault("buf", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                p.mul_(1 - group["lr"] * group["decay"]).add_(buf, alpha=-group["lr"])


class HousePriceNet(nn.Module):
    def __init__(self, districts=12, num=6):
        super().__init__()
        self.district = nn.Embedding(districts, 8)
        self.mlp = nn.Sequential(nn.Linear(num + 8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, num, cat):
        return self.mlp(torch.cat([num, self.district(cat)], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 8)
    base = torch.randn(12, generator=g)
    w = torch.randn(6, generator=g) * 0.5
    table = []
    for _ in range(18):
        num, cat = torch.randn(40, 6, generator=g), torch.randint(0, 12, (40,), generator=g)
        y = base[cat] + num @ w + 0.5 * num[:, 0] * num[:, 1]
        table.append({"num": num, "cat": cat, "price": y / 1.5})
    model = HousePriceNet()
    opt = HeavyBall([{"params": model.district.parameters(), "lr": 0.05},
                     {"params": model.mlp.parameters(), "decay": 1e-3}], lr=0.02, fixed=fixed)

    def step(row):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(row["num"], row["cat"]), row["price"])
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": table, "step": step}
