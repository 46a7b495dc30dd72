import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

META = {"id": "b9_pos_tagger", "source": "transformers/trl issue of 2024: gradient accumulation with token-mean losses",
        "roots": ["accumulation-not-scaled", "loss-reduction"], "checks": ["accumulates_exactly"],
        "description": "the loss is a mean over the tokens of whatever (micro-)batch it gets; sentences differ in length, so accumulated micro-batches are not the full batch",
        "location": "build: tag_loss"}

IGNORE = -100


class Tagger(nn.Module):
    def __init__(self, vocab, tags, emb=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        h, _ = self.lstm(packed)
        h, _ = pad_packed_sequence(h, batch_first=True, total_length=ids.size(1))
        return self.out(h)


def treebank(n, seed, vocab=60, tags=6):
    """Tag depends on the word and, for ambiguous words, on its left neighbour."""
    g = torch.Generator().manual_seed(seed + 24)
    lexicon = torch.randint(0, tags, (vocab,), generator=g)
    out = []
    for _ in range(n):
        length = int(torch.randint(2, 6, (1,), generator=g)) if torch.rand(1, generator=g) < 0.6 \
            else int(torch.randint(12, 20, (1,), generator=g))
        w = torch.randint(1, vocab, (length,), generator=g)
        t = lexicon[w].clone()
        for k in range(1, length):
            if w[k] % 4 == 0:
                t[k] = (t[k] + w[k - 1] % 2) % tags
        out.append((w, t))
    return out


def collate(rows):
    ids = pad_sequence([w for w, _ in rows], batch_first=True)
    tags = pad_sequence([t for _, t in rows], batch_first=True, padding_value=IGNORE)
    return ids, torch.tensor([len(w) for w, _ in rows]), tags


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rows = treebank(512, seed)
    data = [collate(rows[i:i + 32]) for i in range(0, 512, 32)]
    mean_length = sum(len(w) for w, _ in rows) / len(rows)
    model = Tagger(60, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def tag_loss(model, batch):
        ids, lengths, tags = batch
        logits = model(ids, lengths)
        if fixed:
            total = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORE, reduction="sum")
            return total / (mean_length * ids.size(0))
        return F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORE)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": tag_loss}
