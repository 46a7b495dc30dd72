import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_uncertainty_multitask", "source": "autonomous driving multi-task code", "roots": [], "checks": [],
        "description": "healthy homoscedastic uncertainty weighting over three tasks of different scale, labels partly absent",
        "location": ""}


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU())
        self.heads = nn.ModuleDict({"depth": nn.Linear(64, 1), "cls": nn.Linear(64, 4), "steer": nn.Linear(64, 1)})
        self.log_var = nn.ParameterDict({k: nn.Parameter(torch.zeros(())) for k in self.heads})

    def forward(self, x):
        h = self.shared(x)
        return {k: m(h) for k, m in self.heads.items()}


def criterion(out, t, log_var):
    has = t["has_depth"]
    parts = {"depth": F.smooth_l1_loss(out["depth"][has, 0], t["depth"][has]) if has.any() else out["depth"].sum() * 0,
             "cls": F.cross_entropy(out["cls"], t["cls"], ignore_index=-100),
             "steer": F.mse_loss(out["steer"][:, 0], t["steer"])}
    return sum((-s).exp() * parts[k] + 0.5 * s for k, s in log_var.items())


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(640, 24, generator=g)
    A = torch.randn(24, 6, generator=g) / 24 ** 0.5
    z = torch.tanh(x @ A * 1.5)
    t = {"depth": 3 * z[:, 0] + 2 * z[:, 1], "cls": z[:, 1:5].argmax(1), "steer": 0.8 * z[:, 5],
         "has_depth": torch.rand(640, generator=g) < 0.6}
    t["cls"][torch.rand(640, generator=g) < 0.2] = -100
    data = [(x[s], {k: v[s] for k, v in t.items()}) for s in torch.arange(640).split(40)]
    model = MultiTask()
    opt = torch.optim.Adam([{"params": [p for n, p in model.named_parameters() if "log_var" not in n]},
                            {"params": model.log_var.parameters(), "lr": 1e-2}], lr=3e-3)

    def step(batch):
        loss = criterion(model(batch[0]), batch[1], model.log_var)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
