"""Sequence tagger (BiLSTM with a learned transition matrix), parameter groups with different rates."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_crf_group_missing",
    "source": "CASES.md: zjunlp/HVPNeT #5 (CRF and FC never trained), ACEsuit/mace #525 (hand-written parameter groups)",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the hand-written parameter groups leave out the transition matrix and the emission layer",
    "location": "Tagger.emit, Tagger.transitions",
    "shows_in": "wiring",
}

N_TAGS, VOCAB, LEN = 4, 50, 9


class Tagger(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d)
        self.lstm = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * d, N_TAGS)
        self.transitions = nn.Parameter(0.1 * torch.randn(N_TAGS, N_TAGS))

    def forward(self, words):
        return self.emit(self.lstm(self.embed(words))[0])

    def nll(self, words, tags):
        e = self(words)
        score = e.gather(2, tags.unsqueeze(2)).sum((1, 2)) + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = e[:, 0]
        for t in range(1, e.size(1)):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + e[:, t]
        return (torch.logsumexp(alpha, dim=1) - score).mean()


def make_groups(model, lr, complete):
    groups = [
        {"params": model.embed.parameters(), "lr": lr * 0.5},
        {"params": model.lstm.parameters(), "lr": lr},
    ]
    if complete:
        groups.append({"params": list(model.emit.parameters()) + [model.transitions], "lr": lr})
    return groups


def tagged(n, g):
    words = torch.randint(0, VOCAB, (n, LEN), generator=g)
    prev = F.pad(words[:, :-1], (1, 0))
    tags = (words // 13 + (prev % 2)) % N_TAGS
    return words, tags


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    words, tags = tagged(8 * 24, g)
    data = [{"words": w, "tags": t} for w, t in zip(words.split(24), tags.split(24))]
    model = Tagger()
    optimizer = torch.optim.Adam(make_groups(model, 1e-2, complete=fixed))

    def loss(model, batch):
        return model.nll(batch["words"], batch["tags"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
