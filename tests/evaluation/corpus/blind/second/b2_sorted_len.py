"""GRU on packed sequences of unequal length: detect the kind of event in a log."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence

META = {
    "id": "b2_sorted_len",
    "source": "stackoverflow 44184834 (wrong labels), own experience with sorted batches",
    "roots": ["labels-not-aligned"],
    "description": "the collate function sorts the sequences by length for packing but leaves the labels in their old order",
    "location": "collate: labels not permuted",
    "shows_in": "full-data",
}
VOCAB, MAX_LEN = 30, 18


class LogGRU(nn.Module):
    def __init__(self, dim=24, hidden=24, n_kinds=4):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_kinds)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True)
        _, hidden = self.gru(packed)
        return self.fc(hidden[-1])


def collate(samples, fixed):
    ids = torch.zeros(len(samples), MAX_LEN, dtype=torch.long)
    lengths = torch.tensor([len(s) for s, _ in samples])
    labels = torch.tensor([k for _, k in samples])
    for i, (seq, _) in enumerate(samples):
        ids[i, :len(seq)] = seq
    lengths, order = lengths.sort(descending=True)
    ids = ids[order]
    if fixed:
        labels = labels[order]
    return ids, lengths, labels


def make_data(fixed, n_batches=12, batch_size=48):
    data = []
    for _ in range(n_batches):
        samples = []
        for _ in range(batch_size):
            kind = int(torch.randint(0, 4, ()))
            seq = torch.randint(5, VOCAB, (int(torch.randint(6, MAX_LEN + 1, ())),))
            seq[torch.randperm(len(seq))[:2]] = kind + 1
            samples.append((seq, kind))
        data.append(collate(samples, fixed))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data(fixed)
    model = LogGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        ids, lengths, labels = batch
        return F.cross_entropy(model(ids, lengths), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
