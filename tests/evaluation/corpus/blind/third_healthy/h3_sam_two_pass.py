import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_sam_two_pass", "source": "healthy; davda54-style SAM optimizer",
        "roots": [], "checks": [], "description": "sharpness-aware minimisation, two backward passes per update", "location": ""}


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def ascend(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for g in self.param_groups:
            for p in g["params"]:
                e = p.grad * (g["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        loss = closure()
        self.ascend()
        closure()
        self.descend()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 5)
    x = torch.randn(32 * 48, 1, 6, 6, generator=g)
    k = torch.randn(4, 36, generator=g)
    y = (x.flatten(1) @ k.t()).argmax(1)
    net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.ReLU(), nn.Flatten(), nn.Linear(432, 4))
    opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.03, momentum=0.9)

    def step(batch):
        xb, yb = batch

        def closure():
            l = F.cross_entropy(net(xb), yb)
            l.backward()
            return l

        return opt.step(closure).item()

    return {"model": net, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
