import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_set_transformer_ragged", "source": "particle physics jets code", "roots": [], "checks": [],
        "description": "healthy set model on flat ragged events (values + offsets), segment softmax pooling by scatter, MuP-like rates",
        "location": ""}


class JetNet(nn.Module):
    def __init__(self, d=48, heads=3):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(4, d), nn.Mish(), nn.Linear(d, d), nn.Mish())
        self.att = nn.Linear(d, heads, bias=False)
        self.rho = nn.Sequential(nn.LayerNorm(heads * d + 1), nn.Linear(heads * d + 1, d), nn.Mish(), nn.Linear(d, 3))

    def forward(self, parts, seg, n):
        h = self.phi(torch.cat([parts[:, :1].log(), parts[:, 1:]], 1))
        e = (self.att(h).clamp(-10, 10)).exp()
        norm = torch.zeros(n, e.shape[1]).index_add(0, seg, e)
        w = e / norm[seg]
        pooled = torch.zeros(n, e.shape[1] * h.shape[1]).index_add(0, seg, (w[:, :, None] * h[:, None]).flatten(1))
        count = torch.bincount(seg, minlength=n).float().log()[:, None]
        return self.rho(torch.cat([pooled, count], 1))


def events(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    vals, seg = [], []
    for i in range(n):
        prongs = int(y[i]) + 1
        k = int(torch.randint(4, 12, (), generator=g))
        axis = torch.randn(prongs, 2, generator=g) * 0.8
        owner = torch.arange(k) % prongs
        pos = axis[owner] + 0.08 * torch.randn(k, 2, generator=g)
        pt = torch.exp(torch.randn(k, 1, generator=g) * 0.5 + 3)
        pos = pos - (pt * pos).sum(0) / pt.sum()
        vals.append(torch.cat([pt, pos, pos.norm(dim=1, keepdim=True)], 1))
        seg.append(torch.full((k,), i))
    return {"parts": torch.cat(vals), "seg": torch.cat(seg), "n": n, "label": y}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [events(48, g) for _ in range(12)]
    net = JetNet()
    groups = []
    for name, p in net.named_parameters():
        groups.append({"params": [p], "lr": 3e-3 if p.ndim > 1 else 6e-3, "name": name})
    opt = torch.optim.Adam(groups, eps=1e-7)

    def step(b):
        loss = F.cross_entropy(net(b["parts"], b["seg"], b["n"]), b["label"])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
