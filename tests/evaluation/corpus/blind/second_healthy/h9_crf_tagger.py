import torch
import torch.nn as nn
from dataclasses import dataclass

META = {"id": "h9_crf_tagger", "source": "NLP course code", "roots": [], "checks": [],
        "description": "healthy BiLSTM-CRF, linear chain forward algorithm by hand, padded with masks", "location": ""}
PAD = 0


@dataclass
class TaggedBatch:
    words: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor


class CRF(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(k, k) * 0.1)
        self.start = nn.Parameter(torch.zeros(k))
        self.end = nn.Parameter(torch.zeros(k))

    def forward(self, em, tags, mask):
        B, T, K = em.shape
        ar = torch.arange(B)
        score = self.start[tags[:, 0]] + em[ar, 0, tags[:, 0]]
        alpha = self.start + em[:, 0]
        for t in range(1, T):
            m = mask[:, t]
            score = score + m * (self.trans[tags[:, t - 1], tags[:, t]] + em[ar, t, tags[:, t]])
            nxt = torch.logsumexp(alpha[:, :, None] + self.trans[None], 1) + em[:, t]
            alpha = torch.where(m[:, None] > 0, nxt, alpha)
        last = mask.sum(1).long() - 1
        score = score + self.end[tags[ar, last]]
        return (torch.logsumexp(alpha + self.end, 1) - score)


class Tagger(nn.Module):
    def __init__(self, vocab=40, k=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24, padding_idx=PAD)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(48, k)
        self.crf = CRF(k)

    def nll(self, b):
        h, _ = self.lstm(self.emb(b.words))
        return self.crf(self.proj(h), b.tags, b.mask).sum() / b.mask.sum()


def corpus(n, g):
    lens = torch.randint(4, 13, (n,), generator=g)
    w = torch.randint(1, 40, (n, 12), generator=g)
    tags = torch.zeros(n, 12, dtype=torch.long)
    for t in range(12):
        prev = tags[:, t - 1] if t else torch.zeros(n, dtype=torch.long)
        tags[:, t] = torch.where(w[:, t] % 3 == 0, prev, w[:, t] % 5)
    mask = (torch.arange(12)[None] < lens[:, None]).float()
    return TaggedBatch(w * mask.long(), tags * mask.long(), mask)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(100 + seed)
    data = [corpus(24, g) for _ in range(16)]
    model = Tagger()
    optimizer = torch.optim.Adam([{"params": model.crf.parameters(), "lr": 2e-2},
                                  {"params": [p for n, p in model.named_parameters() if not n.startswith("crf")]}], lr=6e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": lambda m, b: m.nll(b)}
