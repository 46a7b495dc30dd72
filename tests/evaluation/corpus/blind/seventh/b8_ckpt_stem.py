import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
META = {"id": "b8_ckpt_stem", "source": "reentrant gradient checkpointing around the first stage of a vision network", "roots": ["disconnected-graph"], "checks": [],
 "description": "the stem is checkpointed with use_reentrant=True on an input which does not require grad, so no gradient reaches the stem",
 "location": "PatchNet.forward"}

class Stage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(4, o)
    def forward(self, x):
        return F.gelu(self.norm(self.conv(x)))

class PatchNet(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 4, stride=4), nn.GELU(), nn.Conv2d(4, 8, 1), nn.GELU())
        self.stage = Stage(8, 16)
        self.head = nn.Linear(16, 6)
    def forward(self, x):
        x = checkpoint(self.stem, x, use_reentrant=self.reentrant)
        x = checkpoint(self.stage, x, use_reentrant=self.reentrant)
        return self.head(x.mean((2, 3)))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    protos = torch.randn(6, 3, 4, 4)
    data = []
    for _ in range(8):
        y = torch.randint(0, 6, (32,))
        x = protos[y].repeat(1, 1, 4, 4) + 0.6 * torch.randn(32, 3, 16, 16)
        data.append({"pixels": x, "label": y})
    model = PatchNet(reentrant=not fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
    def step(batch):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(batch["pixels"]), batch["label"])
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
