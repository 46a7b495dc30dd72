"""Pointwise ranking model trained in bfloat16."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_ranker_bf16",
    "source": "pure-bf16 fine-tuning (`model.to(torch.bfloat16)` + AdamW at a small rate): weights stop moving (transformers / torchtune threads)",
    "roots": ["updates-lost", "precision-mismatch"],
    "checks": ["keeps_precision"],
    "description": "The weights themselves are bfloat16; at this learning rate most updates are below half a unit in the last place and are rounded away.",
    "location": "build: model = Ranker().to(torch.bfloat16)",
}


class Ranker(nn.Module):
    def __init__(self, n_in=16, width=128):
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.inp = nn.Linear(n_in, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = x.to(self.inp.weight.dtype)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = F.silu(self.inp(self.norm(x)))
            h = h + F.silu(self.mid(h))
            return self.out(h).squeeze(-1).float()


def loss_fn(model, batch):
    feats, relevance = batch
    return F.mse_loss(model(feats), relevance)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(16) / 4
    data = []
    for _ in range(8):
        x = torch.randn(48, 16)
        y = 2.0 + 2.0 * torch.tanh(x @ w) + 0.5 * x[:, 0].abs()
        data.append((x, y))
    model = Ranker()
    if not fixed:
        model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.0)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
