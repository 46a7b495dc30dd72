"""Review sentiment with attention pooling over word vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_review_attn_dim0",
    "source": "PetrochukM/PyTorch-NLP #2, catalyst PR 285 (attention softmax over the wrong dimension)",
    "roots": ["batch-mixing"],
    "description": "attention weights are normalised over the batch instead of over the words",
    "location": "AttentionPool.forward: softmax dim=0",
    "shows_in": "wiring",
}


class AttentionPool(nn.Module):
    def __init__(self, d, over_words):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, d), nn.Tanh(), nn.Linear(d, 1))
        self.dim = 1 if over_words else 0

    def forward(self, h):
        weights = torch.softmax(self.score(h), dim=self.dim)
        return (weights * h).sum(dim=1)


class ReviewClassifier(nn.Module):
    def __init__(self, vocab, d=48, over_words=False):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        self.pool = AttentionPool(d, over_words)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        h = self.emb(ids).transpose(1, 2)
        h = F.relu(self.conv(h)).transpose(1, 2)
        return self.out(self.pool(h))


def reviews(n, g):
    label = torch.randint(0, 2, (n,), generator=g)
    ids = torch.randint(40, 300, (n, 18), generator=g)
    pos = torch.randint(0, 18, (n, 3), generator=g)
    words = torch.randint(0, 20, (n, 3), generator=g) + 20 * label.unsqueeze(1)
    ids.scatter_(1, pos, words)
    return ids, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    ids, label = reviews(8 * 32, g)
    data = [{"ids": i, "label": l} for i, l in zip(ids.split(32), label.split(32))]
    model = ReviewClassifier(300, over_words=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch["ids"]), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
