"""Transformer encoder that says which of two marker tokens comes first, and how far apart they are."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_posemb",
    "source": "own experience (position embedding made in __init__, forgotten in forward)",
    "roots": ["unused-parameters"],
    "description": "the learned position embedding is never added to the tokens, so the encoder can't see the order",
    "location": "pos_emb",
    "shows_in": "full-data",
}
VOCAB, LENGTH = 30, 16


class OrderNet(nn.Module):
    def __init__(self, dim=48, n_classes=4, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.tok_emb = nn.Embedding(VOCAB, dim)
        self.pos_emb = nn.Embedding(LENGTH, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, ids):
        pos = torch.arange(ids.size(1), device=ids.device)
        x = self.tok_emb(ids)
        if self.fixed:
            x = x + self.pos_emb(pos)
        x = self.encoder(x)
        return self.head(x.mean(1))


def make_data(n_batches=6, batch_size=32):
    data = []
    for _ in range(n_batches):
        ids = torch.randint(5, 9, (batch_size, LENGTH))
        y = torch.zeros(batch_size, dtype=torch.long)
        for i in range(batch_size):
            a, b = torch.randperm(LENGTH)[:2].tolist()
            ids[i, a], ids[i, b] = 1, 2
            y[i] = 2 * int(a < b) + int(a < LENGTH // 2)
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = OrderNet(fixed=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(model, batch):
        ids, y = batch
        return F.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
