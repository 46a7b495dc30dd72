import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_curriculum_addition", "source": "algorithmic tasks repo", "roots": [], "checks": [],
        "description": "healthy curriculum: sequences ordered by length, gated RNN solves the masked adding problem",
        "location": ""}


def adding(n, length, g):
    v = torch.rand(n, length, generator=g)
    m = torch.zeros(n, length)
    half = length // 2
    m[torch.arange(n), torch.randint(0, half, (n,), generator=g)] = 1
    m[torch.arange(n), torch.randint(half, length, (n,), generator=g)] = 1
    return torch.stack([v, m], -1), (v * m).sum(1, keepdim=True)


class MinGRU(nn.Module):
    """h_t = (1 - z_t) h_{t-1} + z_t c_t"""

    def __init__(self, h=32):
        super().__init__()
        self.zc = nn.Linear(2 + h, 2 * h)
        self.out = nn.Linear(h, 1)
        self.h = h
        with torch.no_grad():
            self.zc.bias[:h].fill_(-1.0)
            self.out.bias.fill_(1.0)

    def forward(self, x):
        h = x.new_zeros(len(x), self.h)
        for t in range(x.shape[1]):
            z, c = self.zc(torch.cat([x[:, t], h], 1)).chunk(2, 1)
            z = torch.sigmoid(z)
            h = (1 - z) * h + z * torch.tanh(c)
        return self.out(h)


class Curriculum:
    """easy batches first; iterating again starts from the easy ones"""

    def __init__(self, g):
        self.batches = [adding(48, L, g) for L in (4, 4, 4, 5, 5, 6, 6, 6, 7, 8, 8, 8)]

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, i):
        return self.batches[i]

    def __iter__(self):
        return iter(self.batches)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = list(Curriculum(torch.Generator().manual_seed(seed)))
    model = MinGRU()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch):
        x, y = batch
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
