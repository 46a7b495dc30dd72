"""Activity classification with packed sequences: samples are sorted by length for packing."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence

META = {
    "id": "b3_length_sorted",
    "source": "CASES.md E stackoverflow 44184834 (wrong labels); own experience (sort for packing without unsort)",
    "roots": ["labels-not-aligned"],
    "description": "the collate function sorts sequences by length for packing but leaves the labels in the old order",
    "location": "collate: y not indexed with order",
    "shows_in": "full-data",
}


class ActivityGRU(nn.Module):
    def __init__(self, n_in=5, hidden=40, n_classes=4):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        _, h = self.rnn(packed)
        return self.head(h[-1])


def collate(x, y, lengths, fixed):
    lengths, order = lengths.sort(descending=True)
    x = x[order]
    if fixed:
        y = y[order]
    return x, lengths, y


def make_data(g, fixed, n_batches=12, batch=32, longest=12):
    drift = torch.randn(4, 5, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 4, (batch,), generator=g)
        lengths = torch.randint(4, longest + 1, (batch,), generator=g)
        noise = 0.7 * torch.randn(batch, longest, 5, generator=g)
        x = drift[y][:, None] + noise
        x = x * (torch.arange(longest)[None, :, None] < lengths[:, None, None])
        data.append(collate(x, y, lengths, fixed))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 42)
    data = make_data(g, fixed)
    model = ActivityGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, lengths, y = batch
        return F.cross_entropy(model(x, lengths), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
