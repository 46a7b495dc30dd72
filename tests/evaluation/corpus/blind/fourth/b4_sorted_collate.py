"""Protein family from residue strings, GRU over packed sequences with a sorting collate function."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

META = {
    "id": "b4_sorted_collate",
    "source": "CASES.md 40467990 (unaligned labels and features); forum pattern 'sort by length for packing'",
    "roots": ["labels-not-aligned"],
    "description": "collate sorts the sequences by length but stacks the labels in the old order",
    "location": "collate",
    "shows_in": "full-data",
}


class FamilyNet(nn.Module):
    def __init__(self, residues=21, families=6):
        super().__init__()
        self.emb = nn.Embedding(residues, 12, padding_idx=0)
        self.gru = nn.GRU(12, 20, batch_first=True)
        self.out = nn.Linear(20, families)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True)
        _, h = self.gru(packed)
        return self.out(h[-1])


def collate(samples, keep_together):
    seqs = [s for s, _ in samples]
    labels = torch.tensor([l for _, l in samples])
    lengths = torch.tensor([len(s) for s in seqs])
    lengths, order = lengths.sort(descending=True)
    ids = pad_sequence([seqs[i] for i in order.tolist()], batch_first=True)
    if keep_together:
        labels = labels[order]
    return ids, lengths, labels


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    usage = torch.rand(6, 20) ** 3
    samples = []
    for _ in range(384):
        family = int(torch.randint(0, 6, (1,)))
        n = int(torch.randint(6, 20, (1,)))
        samples.append((torch.multinomial(usage[family], n, replacement=True) + 1, family))
    data = [collate(samples[i:i + 48], keep_together=fixed) for i in range(0, 384, 48)]
    model = FamilyNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def loss(model, batch):
        ids, lengths, family = batch
        return F.cross_entropy(model(ids, lengths), family)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
