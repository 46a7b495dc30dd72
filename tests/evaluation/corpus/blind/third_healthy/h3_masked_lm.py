import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_masked_lm", "source": "healthy; BERT-style masking collator",
        "roots": [], "checks": [], "description": "15-25 percent of tokens replaced by 80/10/10 rule, loss only there (-100 elsewhere)", "location": ""}

V, MASK = 14, 14


class Encoder(nn.Module):
    def __init__(self, d=48, T=12):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V + 1, d), nn.Parameter(torch.randn(T, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, V)

    def forward(self, ids):
        return self.head(self.enc(self.tok(ids) + self.pos))


class MaskCollator:
    def __init__(self, p, g):
        self.p, self.g = p, g

    def __call__(self, ids):
        pick = torch.rand(ids.shape, generator=self.g) < self.p
        labels = ids.masked_fill(~pick, -100)
        r = torch.rand(ids.shape, generator=self.g)
        inp = ids.clone()
        inp[pick & (r < 0.8)] = MASK
        rnd = torch.randint(0, V, ids.shape, generator=self.g)
        swap = pick & (r > 0.9)
        inp[swap] = rnd[swap]
        return {"input_ids": inp, "labels": labels}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 2)
    n = 32 * 30
    topics = torch.stack([torch.randperm(V, generator=g)[:3] for _ in range(8)])
    topic = torch.randint(0, 8, (n, 1), generator=g)
    ids = topics[topic, torch.randint(0, 3, (n, 12), generator=g)]
    stray = torch.rand(n, 12, generator=g) < 0.05
    ids[stray] = torch.randint(0, V, (int(stray.sum()),), generator=g)
    col = MaskCollator(0.2, g)
    data = [col(b) for b in ids.split(32)]
    m = Encoder()
    opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
    return {"model": m, "optimizer": opt, "data": data,
            "loss": lambda m, b: F.cross_entropy(m(b["input_ids"]).transpose(1, 2), b["labels"], ignore_index=-100)}
