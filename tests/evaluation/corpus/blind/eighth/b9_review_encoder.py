"""Sentiment of variable-length reviews, small transformer encoder."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_review_encoder", "source": "forum: src_key_padding_mask semantics (True means ignore)",
        "roots": ["mask-ignored"], "checks": [],
        "description": "src_key_padding_mask is given the other way round: the real tokens are masked and the padding is attended to",
        "location": "ReviewClassifier.forward"}

PAD = 0


class ReviewClassifier(nn.Module):
    def __init__(self, vocab, d=32, nhead=4, layers=2, fixed=False):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, 24, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, nhead, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, 2)
        self.fixed = fixed

    def forward(self, ids, lengths):
        steps = torch.arange(ids.size(1))[None]
        mask = steps < lengths[:, None]
        h = self.emb(ids) * math.sqrt(self.emb.embedding_dim) + self.pos[:, : ids.size(1)]
        h = self.encoder(h, src_key_padding_mask=~mask if self.fixed else mask)
        return self.fc(self.norm(h[:, 0]))


def collate(samples):
    lengths = torch.tensor([len(s) for s, _ in samples])
    ids = torch.full((len(samples), int(lengths.max()) + 1), PAD)
    for i, (s, _) in enumerate(samples):
        ids[i, : len(s)] = s
    return ids, lengths, torch.tensor([y for _, y in samples])


def reviews(n, seed, vocab=100):
    g = torch.Generator().manual_seed(seed + 83)
    out = []
    for _ in range(n):
        length = int(torch.randint(6, 20, (1,), generator=g))
        s = torch.randint(22, vocab, (length,), generator=g)
        s[0] = 1
        y = int(torch.randint(0, 2, (1,), generator=g))
        for _ in range(3):
            word = 2 + 10 * y + int(torch.randint(0, 10, (1,), generator=g))
            s[int(torch.randint(1, length, (1,), generator=g))] = word
        out.append((s, y))
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    samples = reviews(640, seed)
    batches = [collate(samples[i:i + 32]) for i in range(0, 640, 32)]
    model = ReviewClassifier(100, fixed=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train_batch(batch):
        model.train()
        ids, lengths, labels = batch
        logits = model(ids, lengths)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": batches, "step": train_batch}
