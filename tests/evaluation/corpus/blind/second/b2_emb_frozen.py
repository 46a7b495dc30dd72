"""Ticket routing on word vectors, of which most words of the domain have none."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_emb_frozen",
    "source": "own experience (Embedding.from_pretrained freezes by default)",
    "roots": ["frozen-parameters"],
    "description": "Embedding.from_pretrained is called without freeze=False: words without a vector stay at zero for ever",
    "location": "emb.weight (requires_grad False)",
    "shows_in": "full-data",
}
VOCAB, DIM, KNOWN = 60, 32, 15


class Router(nn.Module):
    def __init__(self, vectors, n_queues=6, fixed=False):
        super().__init__()
        if fixed:
            self.emb = nn.Embedding.from_pretrained(vectors, freeze=False)
        else:
            self.emb = nn.Embedding.from_pretrained(vectors)
        self.conv = nn.Conv1d(DIM, 48, 3, padding=1)
        self.fc = nn.Linear(48, n_queues)

    def forward(self, ids):
        h = F.relu(self.conv(self.emb(ids).transpose(1, 2)))
        return self.fc(h.amax(-1))


def load_vectors():
    vectors = torch.zeros(VOCAB, DIM)
    vectors[:KNOWN] = torch.randn(KNOWN, DIM)
    return vectors


def make_data(n_batches=8, batch_size=32, length=10):
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch_size,))
        ids = torch.randint(0, KNOWN, (batch_size, length))
        jargon = KNOWN + 5 * y[:, None] + torch.randint(0, 5, (batch_size, length))
        ids = torch.where(torch.rand(batch_size, length) < 0.5, jargon, ids)
        ids[:, 0] = KNOWN + 5 * y
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Router(load_vectors(), fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        ids, y = batch
        return F.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
