import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_lookahead_credit", "source": "home-made Lookahead wrappers", "roots": ["updates-lost"], "checks": [],
 "description": "Lookahead copies the slow weights into the model every k steps, but the slow weights are never moved towards the fast ones, so every k steps the progress is thrown away",
 "location": "Lookahead.sync"}

class Lookahead:
    def __init__(self, base, k=5, alpha=0.5, fixed=False):
        self.base, self.k, self.alpha, self.n, self.fixed = base, k, alpha, 0, fixed
        self.slow = [[p.detach().clone() for p in g["params"]] for g in base.param_groups]

    @torch.no_grad()
    def sync(self):
        for g, slow in zip(self.base.param_groups, self.slow):
            for p, s in zip(g["params"], slow):
                if self.fixed:
                    s.add_(p - s, alpha=self.alpha)
                else:
                    s.add(p - s, alpha=self.alpha)
                p.copy_(s)

    def step(self):
        self.base.step()
        self.n += 1
        if self.n % self.k == 0:
            self.sync()

class TabNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.cats = nn.ModuleList([nn.Embedding(c, 6) for c in (5, 9, 12)])
        self.body = nn.Sequential(nn.Linear(18 + 8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    def forward(self, num, cat):
        e = [m(cat[:, i]) for i, m in enumerate(self.cats)]
        return self.body(torch.cat([num] + e, 1)).squeeze(1)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w, cw = torch.randn(8), [torch.randn(c) for c in (5, 9, 12)]
    data = []
    for _ in range(8):
        num = torch.randn(48, 8)
        cat = torch.stack([torch.randint(0, c, (48,)) for c in (5, 9, 12)], 1)
        y = (num @ w + sum(v[cat[:, i]] for i, v in enumerate(cw)) > 0).float()
        data.append((num, cat, y))
    model = TabNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    look = Lookahead(optimizer, fixed=fixed)
    def step(batch):
        num, cat, y = batch
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(num, cat), y)
        loss.backward()
        look.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
