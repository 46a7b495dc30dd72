"""Mixture of experts with top-1 routing."""
import torch
import torch.nn as nn

META = {
    "id": "h_moe_top1",
    "description": 'Experts that win no token in a batch get no gradient at all; an auxiliary load-balance term (floor 1) is added with weight 0.01.',
    "roots": [],
}


class MoE(nn.Module):
    def __init__(self, dim=16, experts=4):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, dim)) for _ in range(experts))

    def forward(self, x):
        p = self.gate(x).softmax(1)
        top, idx = p.max(1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            sel = (idx == e).nonzero().squeeze(1)
            if len(sel):
                out = out.index_add(0, sel, top[sel, None] * expert(x[sel]))
        load = torch.bincount(idx, minlength=len(self.experts)).float() / len(x)
        return x + out, len(self.experts) * (load * p.mean(0)).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.out = nn.Linear(10, 16), MoE(), nn.Linear(16, 3)

    def forward(self, x):
        h, aux = self.moe(torch.relu(self.inp(x)))
        return self.out(h), aux


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(4, 10, 3)
    data = []
    for _ in range(8):
        x = torch.randn(32, 10)
        region = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
        data.append((x, torch.einsum("bi,bio->bo", x, w[region]).argmax(1)))
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        x, y = batch
        logits, aux = model(x)
        return nn.functional.cross_entropy(logits, y) + 0.01 * aux

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
