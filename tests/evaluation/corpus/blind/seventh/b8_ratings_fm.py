import torch, torch.nn as nn
META = {"id": "b8_ratings_fm", "source": "factorization machines on rating tables", "roots": ["target-shape-mismatch"], "checks": [],
 "description": "prediction (B,) minus rating column (B,1) broadcasts to (B,B): the model learns the mean rating",
 "location": "huber(pred - rating)"}

class BiasedMF(nn.Module):
    def __init__(self, users, items, k=8):
        super().__init__()
        self.P, self.Q = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mu = nn.Parameter(torch.tensor(3.0))
        for e in (self.P, self.Q): nn.init.normal_(e.weight, std=0.3)
        for e in (self.bu, self.bi): nn.init.zeros_(e.weight)
    def forward(self, u, i):
        return self.mu + (self.bu(u) + self.bi(i)).squeeze(-1) + (self.P(u) * self.Q(i)).sum(-1)

def huber(d, delta=1.0):
    a = d.abs()
    return torch.where(a < delta, 0.5 * a ** 2, delta * (a - 0.5 * delta)).mean()

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    U, I = 40, 30
    bu, bi = torch.randn(U), torch.randn(I)
    rows = []
    for _ in range(10):
        u, i = torch.randint(0, U, (64,)), torch.randint(0, I, (64,))
        r = (3.2 + bu[u] + bi[i]).clamp(1, 5).round()
        rows.append(torch.stack([u.float(), i.float(), r], 1))
    model = BiasedMF(U, I)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.15)
    def loss_fn(model, table):
        u, i, rating = table[:, 0].long(), table[:, 1].long(), table[:, 2:]
        if fixed:
            rating = rating.squeeze(1)
        return huber(model(u, i) - rating)
    return {"model": model, "optimizer": optimizer, "data": rows, "loss": loss_fn}
