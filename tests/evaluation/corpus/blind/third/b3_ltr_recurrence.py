"""Sequence regression: a hand-written ReLU recurrence sums up marked values."""
import torch
import torch.nn as nn

META = {
    "id": "b3_ltr_recurrence",
    "source": "CASES.md H 'explode'",
    "roots": ["exploding-gradients", "bad-initialization"],
    "description": "recurrent matrix with gain 1.6 over 40 steps: states and gradients grow exponentially with time",
    "location": "Recurrence.hh (orthogonal_ gain)",
    "shows_in": "one-batch",
}


class Recurrence(nn.Module):
    def __init__(self, n_in=2, hidden=40, gain=1.0):
        super().__init__()
        self.ih = nn.Linear(n_in, hidden)
        self.hh = nn.Linear(hidden, hidden, bias=False)
        nn.init.orthogonal_(self.hh.weight, gain=gain)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.hh.in_features)
        for t in range(x.shape[1]):
            h = nn.functional.leaky_relu(self.ih(x[:, t]) + self.hh(h), 0.5)
        return self.out(h).squeeze(-1)


def make_batch(g, batch=32, length=40):
    value = torch.rand(batch, length, generator=g) * 2 - 1
    mark = torch.zeros(batch, length)
    for i in range(batch):
        mark[i, torch.randint(length // 2, length, (3,), generator=g)] = 1.0
    return torch.stack([value, mark], dim=-1), (value * mark).sum(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    data = [make_batch(g) for _ in range(8)]
    model = Recurrence(gain=1.0 if fixed else 1.6)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.mse_loss(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
