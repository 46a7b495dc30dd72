import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_imbalanced_fraud", "source": "healthy; fraud-like tabular classification with class weights",
        "roots": [], "checks": [], "description": "12 percent positives, square-root pos_weight from the training split, stratified batches", "location": ""}


class FraudNet(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 42)
    x = torch.randn(6000, 9, generator=g)
    u = x[:, 0] * 1.5 + x[:, 1] * x[:, 2] + x[:, 3]
    pos, neg = (u > 2.4).nonzero().squeeze(1)[:50 * 6], (u < 2.2).nonzero().squeeze(1)
    batches = []
    for i in range(50):
        idx = torch.cat([pos[i * 6:(i + 1) * 6], neg[i * 44:(i + 1) * 44]])
        idx = idx[torch.randperm(len(idx), generator=g)]
        batches.append((x[idx], (u[idx] > 2.4).float()))
    train, val = batches[:40], batches[40:]
    y = torch.cat([b[1] for b in train])
    w = (len(y) - y.sum()) / y.sum()
    m = FraudNet(9)
    crit = nn.BCEWithLogitsLoss(pos_weight=w.sqrt())
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=4e-3), "data": train, "val": val,
            "loss": lambda m, b: crit(m(b[0]), b[1])}
