"""Attention pooling over sets of events that are stored in fixed-size buffers."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_event_sets",
    "source": "forum: masked_fill is not in place, its result is dropped",
    "roots": ["mask-ignored"],
    "checks": [],
    "description": "The masked scores are computed and thrown away; the stale rows of the buffer take part in the attention.",
    "location": "AttentionPool.forward: scores.masked_fill(~valid, -1e4)",
}


class AttentionPool(nn.Module):
    def __init__(self, dim, assign):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.assign = assign

    def forward(self, h, valid):
        scores = self.key(h) @ self.query
        if self.assign:
            scores = scores.masked_fill(~valid, -1e4)
        else:
            scores.masked_fill(~valid, -1e4)
        attn = scores.softmax(dim=1)
        return (attn.unsqueeze(-1) * self.value(h)).sum(1)


class SetRegressor(nn.Module):
    def __init__(self, n_in=3, dim=32, assign=False):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.pool = AttentionPool(dim, assign)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, events, valid):
        return self.out(self.pool(self.embed(events), valid)).squeeze(-1)


def buffers(n, gen, size=12):
    events = torch.randn(n, size, 3, generator=gen)
    count = torch.randint(3, size + 1, (n,), generator=gen)
    valid = torch.arange(size)[None] < count[:, None]
    m = valid.float()
    mean = (events * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True)
    return {"events": events, "valid": valid, "y": 2 * mean[:, 0] - mean[:, 1] + mean[:, 2].abs()}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [buffers(40, gen) for _ in range(8)]
    val = [buffers(40, gen) for _ in range(2)]
    model = SetRegressor(assign=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss_fn(net, batch):
        return F.mse_loss(net(batch["events"], batch["valid"]), batch["y"])

    return {"model": model, "optimizer": optimizer, "data": data, "val": val, "loss": loss_fn}
