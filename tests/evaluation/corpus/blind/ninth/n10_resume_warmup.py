import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_resume_warmup",
        "source": "training scripts with a hand-written schedule: global_step is not in the checkpoint",
        "roots": ["checkpoint-incomplete"], "checks": ["resumes_exactly"],
        "description": "The checkpoint lacks the step counter from which the hand-written warm-up/cosine schedule is computed, so a resumed run warms up again.",
        "location": "Trainer.save / Trainer.load"}


class Recommender(nn.Module):
    def __init__(self, users, items, dim=16):
        super().__init__()
        self.u, self.i = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.u(u), self.i(i)], 1)).squeeze(1)


class Trainer:
    peak, warmup, total = 1e-2, 30, 3000

    def __init__(self, seed, fixed):
        torch.manual_seed(seed)
        self.net = Recommender(40, 40)
        self.optim = torch.optim.AdamW(self.net.parameters(), lr=self.peak, weight_decay=1e-4)
        self.global_step = 0
        self.keep = ("global_step",) if fixed else ()

    def lr_now(self):
        s = self.global_step
        if s < self.warmup:
            return self.peak * (s + 1) / self.warmup
        return self.peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1, (s - self.warmup) / (self.total - self.warmup)))))

    def fit_one(self, batch):
        for gr in self.optim.param_groups:
            gr["lr"] = self.lr_now()
        u, i, r = batch
        loss = F.mse_loss(self.net(u, i), r)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        self.global_step += 1
        return loss.item()

    def save(self, path):
        torch.save({"net": self.net.state_dict(), "optim": self.optim.state_dict(),
                    "extra": {k: getattr(self, k) for k in self.keep}}, path)

    def load(self, path):
        ck = torch.load(path)
        self.net.load_state_dict(ck["net"])
        self.optim.load_state_dict(ck["optim"])
        for k, v in ck["extra"].items():
            setattr(self, k, v)


def build(fixed=False, seed=0):
    t = Trainer(seed, fixed)
    g = torch.Generator().manual_seed(seed + 29)
    U, V = torch.randn(40, 2, generator=g), torch.randn(40, 2, generator=g)
    pairs = torch.randperm(40 * 40, generator=g)[:1536]
    data = []
    for part in pairs.split(64):
        u, i = part // 40, part % 40
        data.append((u, i, (U[u] * V[i]).sum(1) / 1.4))
    return {"model": t.net, "optimizer": t.optim, "data": data, "step": t.fit_one, "save": t.save, "load": t.load}
