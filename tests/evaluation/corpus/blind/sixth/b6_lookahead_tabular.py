"""Tabular classifier trained with a Lookahead wrapper around Adam."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_lookahead_tabular",
    "source": "Lookahead wrappers whose state_dict delegates to the inner optimizer (several public implementations)",
    "roots": ["checkpoint-incomplete"],
    "checks": ["resumes_exactly"],
    "description": "state_dict() returns the inner optimizer's state only: slow weights and the step counter are lost at a resume.",
    "location": "Lookahead.state_dict: return self.inner.state_dict()",
}


class Lookahead(torch.optim.Optimizer):
    def __init__(self, inner, k=6, alpha=0.5, export_slow=False):
        super().__init__(inner.param_groups, dict(inner.defaults))
        self.inner = inner
        self.param_groups = inner.param_groups
        self.state = inner.state
        self.k, self.alpha = k, alpha
        self.counter = 0
        self.export_slow = export_slow
        self.slow = [p.detach().clone() for g in self.param_groups for p in g["params"]]

    def step(self, closure=None):
        loss = self.inner.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            fast = [p for g in self.param_groups for p in g["params"]]
            with torch.no_grad():
                for s, p in zip(self.slow, fast):
                    s.add_(p - s, alpha=self.alpha)
                    p.copy_(s)
        return loss

    def state_dict(self):
        sd = self.inner.state_dict()
        if self.export_slow:
            sd = dict(sd, slow=[s.clone() for s in self.slow], counter=self.counter)
        return sd

    def load_state_dict(self, sd):
        sd = dict(sd)
        slow, counter = sd.pop("slow", None), sd.pop("counter", 0)
        self.inner.load_state_dict(sd)
        self.param_groups = self.inner.param_groups
        self.state = self.inner.state
        if slow is not None:
            for s, v in zip(self.slow, slow):
                s.copy_(v)
            self.counter = counter


def loss_fn(model, batch):
    x, y = batch
    return F.cross_entropy(model(x), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    proj = torch.randn(10, 4)
    data = []
    for _ in range(9):
        x = torch.randn(40, 10)
        y = (x @ proj + 0.5 * x[:, :4].pow(2)).argmax(1)
        data.append((x, y))
    model = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.LayerNorm(64), nn.Linear(64, 4))
    optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=5e-3), export_slow=fixed)

    def save(path):
        torch.save({"net": model.state_dict(), "opt": optimizer.state_dict()}, path)

    def load(path):
        ckpt = torch.load(path)
        model.load_state_dict(ckpt["net"])
        optimizer.load_state_dict(ckpt["opt"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn, "save": save, "load": load}
