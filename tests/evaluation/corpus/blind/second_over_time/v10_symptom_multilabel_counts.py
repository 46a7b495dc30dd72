import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_symptom_multilabel_counts",
        "source": "multi-label targets built with bincount / scatter_add instead of a 0/1 assignment (PyTorch forum: 'BCEWithLogitsLoss goes negative')",
        "roots": ["invalid-labels"],
        "checks": [],
        "description": "Codes that were entered twice are counted, so some binary targets are 2 or 3; the cross-entropy has no lower bound for them, falls below 0 and drives the logits to infinity.",
        "location": "multi_hot: counts are not clamped to 1"}

CODES, WORDS, NOTE = 8, 90, 16


def write_notes(n, g, lex):
    ids = torch.randint(0, WORDS, (n, NOTE), generator=g)
    present = (torch.nn.functional.one_hot(ids, WORDS).sum(1).float() @ lex) > 1.5
    visits = torch.randint(1, 4, (n, CODES), generator=g)
    entries = [[c for c in range(CODES) if present[i, c] for _ in range(int(visits[i, c]))] for i in range(n)]
    return ids, entries


def multi_hot(entries, unique):
    out = torch.zeros(len(entries), CODES)
    for row, codes in zip(out, entries):
        row.scatter_add_(0, torch.tensor(codes, dtype=torch.long), torch.ones(len(codes)))
    return out.clamp(max=1) if unique else out


class NoteCoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, dim, mode="sum")
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, CODES))

    def forward(self, ids):
        return self.ff(self.norm(self.bag(ids)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 33)
    lex = (torch.rand(WORDS, CODES, generator=g) < 0.12).float()

    def corpus(n, size):
        ids, entries = write_notes(n, g, lex)
        return [{"note": a, "codes": b} for a, b in zip(ids.split(size), multi_hot(entries, fixed).split(size))]

    train, val = corpus(1600, 32), corpus(256, 64)
    model = NoteCoder()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=5e-3), "data": train, "val": val,
            "loss": lambda m, b: F.binary_cross_entropy_with_logits(m(b["note"]), b["codes"])}
