"""Review sentiment: token embeddings, attention pooling over the valid tokens, binary label."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_review_attention_pool",
    "source": "CASES.md J, getting-nan-in-the-softmax-layer/74894",
    "roots": ["unstable-operation"],
    "description": "a review with no tokens left after cleaning gives a row of -inf before the softmax: NaN",
    "location": "AttentionPool.forward: softmax over a fully masked row",
    "shows_in": "nan",
}

VOCAB, PAD, LENGTH = 60, 0, 14


class AttentionPool(nn.Module):
    def __init__(self, dim, floor):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, 1))
        self.floor = floor

    def forward(self, h, mask):
        s = self.score(h).squeeze(-1)
        s = s.masked_fill(~mask, self.floor)
        w = F.softmax(s, dim=-1)
        return (w.unsqueeze(-1) * h).sum(dim=1)


class SentimentNet(nn.Module):
    def __init__(self, floor, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pool = AttentionPool(dim, floor)
        self.head = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, tokens):
        mask = tokens != PAD
        return self.head(self.pool(self.embed(tokens), mask)).squeeze(-1)


def make_data(g, n_batches=8, batch=32):
    polarity = torch.randn(VOCAB, generator=g)
    data = []
    for b in range(n_batches):
        tokens = torch.randint(1, VOCAB, (batch, LENGTH), generator=g)
        lengths = torch.randint(3, LENGTH + 1, (batch,), generator=g)
        if b == 4:
            lengths[11] = 0
        tokens = tokens * (torch.arange(LENGTH)[None] < lengths[:, None])
        score = (polarity[tokens] * (tokens != PAD)).sum(1)
        data.append((tokens, (score > 0).float()))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 31)
    data = make_data(g)
    model = SentimentNet(floor=-1e9 if fixed else float("-inf"))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        tokens, label = batch
        return F.binary_cross_entropy_with_logits(model(tokens), label)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
