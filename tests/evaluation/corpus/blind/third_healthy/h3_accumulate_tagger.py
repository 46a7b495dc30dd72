import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_accumulate_tagger", "source": "healthy; per-sample normalised tagging loss",
        "roots": [], "checks": ["accumulates_exactly"], "description": "token losses are averaged within each sample first, then over samples, so micro-batches add up exactly", "location": ""}


class ConvTagger(nn.Module):
    def __init__(self, v=12, d=32, k=4):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        self.ln = nn.LayerNorm(d)
        self.fc = nn.Linear(d, k)

    def forward(self, ids):
        e = self.emb(ids)
        return self.fc(self.ln(e + torch.relu(self.conv(e.transpose(1, 2)).transpose(1, 2))))


def per_sample_loss(m, b):
    ids, tags = b
    l = F.cross_entropy(m(ids).transpose(1, 2), tags, ignore_index=-100, reduction="none")
    mask = (tags != -100).float()
    return ((l * mask).sum(1) / mask.sum(1)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 52)
    n, T = 32 * 24, 10
    ids = torch.randint(1, 12, (n, T), generator=g)
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), ids[:, :-1]], 1)
    tags = (ids + (prev > 6).long() * 2) % 4
    lens = torch.randint(5, T + 1, (n, 1), generator=g)
    pad = torch.arange(T) >= lens
    ids, tags = ids.masked_fill(pad, 0), tags.masked_fill(pad, -100)
    m = ConvTagger()
    return {"model": m, "optimizer": torch.optim.SGD(m.parameters(), lr=0.3, momentum=0.9),
            "data": list(zip(ids.split(32), tags.split(32))), "loss": per_sample_loss}
