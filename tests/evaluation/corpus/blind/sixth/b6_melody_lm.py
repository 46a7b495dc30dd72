"""Next-note prediction with a small attention model."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_melody_lm",
    "source": "boolean attn_mask polarity of nn.MultiheadAttention (True = blocked) mistaken for 'allowed' (forum, many ports from scaled_dot_product_attention)",
    "roots": ["target-leakage"],
    "checks": [],
    "description": "The lower triangle is passed as boolean mask, which blocks the past and lets each position attend to the notes it has to predict.",
    "location": "MelodyModel.forward: mask = torch.tril(ones, diagonal=-1)",
}

NOTES, LEN = 16, 14


class MelodyModel(nn.Module):
    def __init__(self, dim=32, heads=2, layers=2, upper=False):
        super().__init__()
        self.note = nn.Embedding(NOTES, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(LEN, dim))
        self.attn = nn.ModuleList(nn.MultiheadAttention(dim, heads, batch_first=True) for _ in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim)) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.out = nn.Linear(dim, NOTES)
        self.upper = upper

    def forward(self, x):
        n = x.size(1)
        ones = torch.ones(n, n, dtype=torch.bool, device=x.device)
        mask = torch.triu(ones, diagonal=1) if self.upper else torch.tril(ones, diagonal=-1)
        h = self.note(x) + self.pos[:n]
        for attn, ff, norm in zip(self.attn, self.ff, self.norms):
            q = norm(h)
            h = h + attn(q, q, q, attn_mask=mask, need_weights=False)[0]
            h = h + ff(h)
        return self.out(h)


def melodies(n, gen):
    seq = torch.zeros(n, LEN + 1, dtype=torch.long)
    seq[:, :2] = torch.randint(0, NOTES, (n, 2), generator=gen)
    for t in range(2, LEN + 1):
        jump = (torch.rand(n, generator=gen) < 0.15).long() * torch.randint(0, NOTES, (n,), generator=gen)
        seq[:, t] = (seq[:, t - 1] + seq[:, t - 2] + jump) % NOTES
    return seq[:, :-1].clone(), seq[:, 1:].clone()


def loss_fn(model, batch):
    x, y = batch
    return F.cross_entropy(model(x).transpose(1, 2), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 4)
    data = [melodies(32, gen) for _ in range(8)]
    model = MelodyModel(upper=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
