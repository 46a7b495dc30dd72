import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_ner_tagger_bos",
        "source": "token-classification scripts for transformers: special tokens are added for evaluation, the tags are not moved (huggingface issues on label alignment)",
        "roots": ["labels-not-aligned"],
        "checks": [],
        "description": "The validation encoder puts a BOS token in front of each sentence and cuts the end, while the tags stay where they were: each validation tag belongs to the next position.",
        "location": "encode: add_bos moves the words by one, not the tags"}

PAD, BOS, FIRST = 0, 1, 2
WORDS, TAGS, LEN = 80, 5, 12


def sentences(n, g):
    """The tag depends on the word and on whether the word before is a 'title' word."""
    words = torch.randint(FIRST, WORDS, (n, LEN), generator=g)
    prev = F.pad(words, (1, 0), value=FIRST)[:, :-1]
    tags = (words + 2 * (prev % 3 == 0).long()) % TAGS
    return words, tags


def encode(words, tags, add_bos):
    if add_bos:
        words = torch.cat([torch.full((len(words), 1), BOS), words[:, :-1]], 1)
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=32, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, TAGS)

    def forward(self, words):
        return self.proj(self.rnn(self.embed(words))[0])


def make_loss():
    def loss(model, batch):
        words, tags = batch
        return F.cross_entropy(model(words).flatten(0, 1), tags.flatten())
    return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 8)
    tr_w, tr_t = encode(*sentences(960, g), add_bos=False)
    va_w, va_t = encode(*sentences(192, g), add_bos=not fixed)
    model = Tagger()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=1e-2),
            "data": list(zip(tr_w.split(32), tr_t.split(32))), "val": list(zip(va_w.split(48), va_t.split(48))),
            "loss": make_loss()}
