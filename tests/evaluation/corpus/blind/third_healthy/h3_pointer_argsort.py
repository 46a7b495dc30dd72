import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_pointer_argsort", "source": "healthy; pointer network with masked attention",
        "roots": [], "checks": [], "description": "teacher-forced pointer decoder that lists items in ascending order, already used items masked", "location": ""}


class PointerNet(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.enc = nn.GRU(2, d, batch_first=True, bidirectional=True)
        self.mem = nn.Linear(2 * d, d)
        self.cell = nn.GRUCell(d, d)
        self.start = nn.Parameter(torch.randn(d) * 0.1)
        self.query = nn.Linear(d, d)
        self.score = nn.Linear(d, 1)

    def forward(self, x, order):
        e, h = self.enc(x)
        e = torch.tanh(self.mem(e))
        h = e.mean(1)
        inp = self.start.expand(len(x), -1)
        used = torch.zeros(x.shape[:2], dtype=torch.bool)
        logits = []
        for t in range(x.shape[1]):
            h = self.cell(inp, h)
            s = self.score(torch.tanh(e + self.query(h)[:, None])).squeeze(-1)
            logits.append(s.masked_fill(used, -1e9))
            idx = order[:, t]
            inp = e[torch.arange(len(x)), idx]
            used = used.scatter(1, idx[:, None], True)
        return torch.stack(logits, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(32 * 24, 5, 2, generator=g) * 2 - 1
    order = (x[..., 0] + 0.3 * x[..., 1]).argsort(1)
    m = PointerNet()
    opt = torch.optim.Adam(m.parameters(), lr=5e-3)

    def step(batch):
        pts, o = batch
        opt.zero_grad()
        loss = F.cross_entropy(m(pts, o).flatten(0, 1), o.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 2.0)
        opt.step()
        return loss.detach()

    return {"model": m, "optimizer": opt, "data": list(zip(x.split(32), order.split(32))), "step": step}
