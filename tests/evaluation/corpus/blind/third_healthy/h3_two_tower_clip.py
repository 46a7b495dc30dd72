import math
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_two_tower_clip", "source": "healthy; CLIP-like in-batch negatives",
        "roots": [], "checks": [], "description": "symmetric InfoNCE of two towers with learned clamped temperature", "location": ""}


class CLIPish(nn.Module):
    def __init__(self, vocab=60, feat=20, dim=24):
        super().__init__()
        self.text = nn.EmbeddingBag(vocab, 48, mode="mean")
        self.text_proj = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, dim, bias=False))
        self.image = nn.Sequential(nn.Linear(feat, 64), nn.GELU(), nn.Linear(64, dim, bias=False))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.2)))

    def forward(self, image, tokens):
        i = F.normalize(self.image(image), dim=-1)
        t = F.normalize(self.text_proj(self.text(tokens)), dim=-1)
        return self.logit_scale.clamp(max=math.log(100)).exp() * i @ t.t()


def clip_loss(model, batch):
    logits = model(batch["image"], batch["tokens"])
    y = torch.arange(len(logits))
    return 0.5 * (F.cross_entropy(logits, y) + F.cross_entropy(logits.t(), y))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 4)
    atoms = torch.randn(60, 20, generator=g)
    tok = torch.randint(0, 60, (24 * 30, 5), generator=g)
    img = atoms[tok].mean(1) * 2 + 0.1 * torch.randn(len(tok), 20, generator=g)
    data = [{"image": a, "tokens": b} for a, b in zip(img.split(24), tok.split(24))]
    m = CLIPish()
    no_decay = [p for n, p in m.named_parameters() if p.ndim < 2]
    decay = [p for n, p in m.named_parameters() if p.ndim >= 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=3e-3)
    return {"model": m, "optimizer": opt, "data": data, "loss": clip_loss}
