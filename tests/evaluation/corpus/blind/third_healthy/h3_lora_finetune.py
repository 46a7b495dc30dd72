import math
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_lora_finetune", "source": "healthy; minimal LoRA re-implementation",
        "roots": [], "checks": [], "description": "low-rank adapters (B starts at zero) on a pre-fitted frozen MLP, head trained too", "location": ""}


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.t() @ self.B.t())


def inject(module, r):
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child, r))
        else:
            inject(child, r)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(10, 64), nn.Linear(64, 24)

    def forward(self, x):
        return F.gelu(self.down(F.gelu(self.up(x))))


def pretrain(bb, x, W):
    head = nn.Linear(24, W.shape[1])
    o = torch.optim.Adam([*bb.parameters(), *head.parameters()], 3e-3)
    for i in range(100):
        o.zero_grad()
        F.mse_loss(head(bb(x)), torch.tanh(x @ W)).backward()
        o.step()
    bb.zero_grad(set_to_none=True)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 3)
    W = torch.randn(10, 6, generator=g) / 2
    bb = Backbone()
    pretrain(bb, torch.randn(256, 10, generator=g), W)
    inject(bb, r=4)
    model = nn.Sequential(bb, nn.Linear(24, 4))
    x = torch.randn(32 * 60, 10, generator=g)
    W2 = W + 0.4 * torch.randn(10, 6, generator=g)
    y = (torch.tanh(x @ W2) @ torch.randn(6, 4, generator=g)).argmax(1)
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3, weight_decay=0.0)
    return {"model": model, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))),
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
