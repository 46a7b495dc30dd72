"""Question classifier: a learned query attends to the padded tokens of a question."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_keymask",
    "source": "own experience (key_padding_mask wants True at the padding); cf. yg211/bert_nli PR 3",
    "roots": ["ignores-input"],
    "description": "key_padding_mask is True for real tokens instead of padding: the query sees only padding, the words have no influence",
    "location": "QuestionNet.forward, key_padding_mask",
    "shows_in": "one-batch",
}
VOCAB, LENGTH, PAD = 50, 14, 0


class QuestionNet(nn.Module):
    def __init__(self, dim=48, n_classes=5, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.query = nn.Parameter(torch.randn(1, 1, dim))
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def forward(self, ids):
        tokens = self.emb(ids)
        mask = (ids == PAD) if self.fixed else (ids != PAD)
        query = self.query.expand(ids.size(0), -1, -1)
        pooled, _ = self.attn(query, tokens, tokens, key_padding_mask=mask)
        return self.head(self.norm(query + pooled).squeeze(1))


def make_data(n_batches=8, batch_size=32):
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        ids = torch.randint(10, VOCAB, (batch_size, LENGTH))
        ids[torch.arange(batch_size), torch.randint(0, 5, (batch_size,))] = 1 + y
        lens = torch.randint(5, LENGTH, (batch_size,))
        ids[torch.arange(LENGTH)[None] >= lens[:, None]] = PAD
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = QuestionNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        ids, y = batch
        return F.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
