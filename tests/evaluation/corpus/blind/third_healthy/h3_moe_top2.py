import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "h3_moe_top2", "source": "healthy; sparse mixture of experts with balance loss",
        "roots": [], "checks": [], "description": "top-2 routing over four experts with an auxiliary balancing term", "location": ""}


class MoE(nn.Module):
    def __init__(self, d, e=4, k=2, hid=32):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(d, e, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, hid), nn.GELU(), nn.Linear(hid, d)) for _ in range(e))
        self.aux = None

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        w, idx = p.topk(self.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, ex in enumerate(self.experts):
            rows, slot = (idx == e).nonzero(as_tuple=True)
            if rows.numel():
                out = out.index_add(0, rows, w[rows, slot, None] * ex(x[rows]))
        load = F.one_hot(idx, p.shape[-1]).float().sum(1).mean(0) / self.k
        self.aux = p.shape[-1] * (load * p.mean(0)).sum()
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.norm, self.out = nn.Linear(8, 32), MoE(32), nn.LayerNorm(32), nn.Linear(32, 3)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.moe(self.norm(h))
        return self.out(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(40 * 24, 8, generator=g)
    A, B = torch.randn(8, 3, generator=g), torch.randn(8, 3, generator=g)
    y = torch.where(x[:, :1] > 0, x @ A, x @ B) / 3
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)

    def loss_fn(m, batch):
        pred = m(batch[0])
        return F.mse_loss(pred, batch[1]) + 0.01 * m.moe.aux

    return {"model": model, "optimizer": opt, "data": DataLoader(TensorDataset(x, y), batch_size=40), "loss": loss_fn}
