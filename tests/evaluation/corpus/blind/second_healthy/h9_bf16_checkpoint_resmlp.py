import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

META = {"id": "h9_bf16_checkpoint_resmlp", "source": "large-model training script, scaled down", "roots": [], "checks": [],
        "description": "healthy bf16 autocast with checkpointed pre-norm blocks, layer scale, gradient accumulation over micro-batches",
        "location": ""}


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n = nn.LayerNorm(d)
        self.up, self.gate, self.down = nn.Linear(d, 2 * d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.scale = nn.Parameter(torch.full((d,), 0.3))

    def forward(self, x):
        h = self.n(x)
        return x + self.scale * self.down(F.silu(self.gate(h)) * self.up(h))


class ResMLP(nn.Module):
    def __init__(self, d=48, depth=2):
        super().__init__()
        self.stem = nn.Linear(18, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 6)

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.training else b(x)
        return self.head(self.norm(x))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1024, 18, generator=g)
    proto = torch.randn(6, 18, generator=g)
    y = torch.cdist(x, proto).argmin(1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 64, shuffle=True,
                                       generator=torch.Generator().manual_seed(seed))
    model = ResMLP()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)

    def step(batch):
        model.train()
        opt.zero_grad(set_to_none=True)
        total = 0.0
        for xb, yb in zip(batch[0].chunk(2), batch[1].chunk(2)):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(xb)
            loss = F.cross_entropy(logits.float(), yb, reduction="sum") / len(batch[1])
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return total

    return {"model": model, "optimizer": opt, "data": data, "step": step}
