import copy
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_resume_ema_byol", "source": "healthy; BYOL with state-dict style resume",
        "roots": [], "checks": ["resumes_exactly"], "description": "self-distillation with target EMA whose decay follows the step count; everything is in the saved state", "location": ""}


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 16))
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return (2 - F.cosine_similarity(pa, tb) - F.cosine_similarity(pb, ta)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 47)
    base = torch.randn(40 * 24, 5, generator=g) @ torch.randn(5, 20, generator=g) / 2
    data = list(zip((base + 0.4 * torch.randn(base.shape, generator=g)).split(40), (base + 0.4 * torch.randn(base.shape, generator=g)).split(40)))
    net = BYOL()
    opt = torch.optim.SGD([*net.online.parameters(), *net.predictor.parameters()], lr=0.1, momentum=0.9, weight_decay=1e-4)
    run = {"step": 0, "avg": None}

    def step(batch):
        loss = net(*batch)
        opt.zero_grad()
        loss.backward()
        for group in opt.param_groups:
            group["lr"] = 0.1 * min(1.0, (run["step"] + 1) / 20)
        opt.step()
        run["step"] += 1
        m = min(0.99, 0.9 + run["step"] * 5e-4)
        with torch.no_grad():
            for t, o in zip(net.target.parameters(), net.online.parameters()):
                t.mul_(m).add_(o, alpha=1 - m)
        run["avg"] = loss.item() if run["avg"] is None else 0.9 * run["avg"] + 0.1 * loss.item()
        return loss.item()

    def save():
        return copy.deepcopy({"net": net.state_dict(), "opt": opt.state_dict(), "run": run})

    def load(state):
        net.load_state_dict(state["net"])
        opt.load_state_dict(copy.deepcopy(state["opt"]))
        run.update(state["run"])

    return {"model": net, "optimizer": opt, "data": data, "step": step, "save": save, "load": load}
