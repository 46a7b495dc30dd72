"""BiLSTM part-of-speech tagger with gradient clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_pos_tagger",
    "source": "own experience: clipping threshold far below the usual gradient norm",
    "roots": ["bad-gradient-clipping"],
    "description": "gradients are clipped to norm 1e-3 under SGD, so hardly anything of the step is left",
    "location": "step: clip_grad_norm_(max_norm=1e-3)",
    "shows_in": "one-batch",
}

PAD = -100


class Tagger(nn.Module):
    def __init__(self, vocab, n_tags, dim=24, hidden=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_tags)

    def forward(self, words):
        h, _ = self.lstm(self.emb(words))
        return self.out(h)


def make_sentences(n, vocab, n_tags, length=10):
    words = torch.randint(1, vocab, (n, length))
    base = torch.randint(0, n_tags, (vocab,))
    marker = torch.rand(vocab) < 0.15
    tags = base[words]
    after_marker = torch.zeros_like(tags, dtype=torch.bool)
    after_marker[:, 1:] = marker[words[:, :-1]]
    tags = torch.where(after_marker, (tags + 1) % n_tags, tags)
    lengths = torch.randint(6, length + 1, (n,))
    pad = torch.arange(length) >= lengths.unsqueeze(1)
    words[pad] = 0
    tags[pad] = PAD
    return words, tags


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, n_tags, bs = 60, 5, 24
    words, tags = make_sentences(8 * bs, vocab, n_tags)
    data = [{"words": w, "tags": t} for w, t in zip(words.split(bs), tags.split(bs))]
    model = Tagger(vocab, n_tags)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    max_norm = 1.0 if fixed else 1e-3

    def step(batch):
        optimizer.zero_grad()
        logits = model(batch["words"])
        loss = F.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten(), ignore_index=PAD)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
