import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

META = {"id": "n10_ner_pad_label",
        "source": "NER fine-tuning scripts whose collate pads the labels with 0 and gives that id to ignore_index, although 0 is tag 'O'",
        "roots": ["ignored-class"], "checks": [],
        "description": "Labels are padded with 0 and the loss ignores 0, which is the most frequent real tag 'O'; the tagger never learns it.",
        "location": "LABEL_PAD in build (collate and ignore_index)"}

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


class Tagger(nn.Module):
    def __init__(self, vocab, dim=32, hid=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.mix = nn.Conv1d(dim, hid, 3, padding=1)
        self.out = nn.Linear(hid, len(TAGS))

    def forward(self, ids):
        return self.out(F.relu(self.mix(self.emb(ids).transpose(1, 2))).transpose(1, 2))


def collate(sents, label_pad):
    ids = pad_sequence([s for s, _ in sents], batch_first=True, padding_value=0)
    tags = pad_sequence([t for _, t in sents], batch_first=True, padding_value=label_pad)
    return ids, tags


def sentence(g):
    n = int(torch.randint(6, 15, (1,), generator=g))
    ids = torch.randint(1, 50, (n,), generator=g)
    tags = torch.zeros(n, dtype=torch.long)
    tags[ids >= 34] = 1
    tags[ids >= 42] = 3
    prev = torch.cat([torch.zeros(1, dtype=torch.long), tags[:-1]])
    tags = torch.where((tags > 0) & (prev == tags), tags + 1, tags)
    return ids, tags


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 12)
    LABEL_PAD = -100 if fixed else 0
    data = [collate([sentence(g) for _ in range(24)], LABEL_PAD) for _ in range(16)]
    model = Tagger(50)
    crit = nn.CrossEntropyLoss(ignore_index=LABEL_PAD)

    def loss(model, batch):
        ids, tags = batch
        return crit(model(ids).flatten(0, 1), tags.flatten())

    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=5e-3), "data": data, "loss": loss}
