"""Part-of-speech tagging with word vectors loaded into the embedding and a BiLSTM."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_word_vectors",
    "source": "own experience (Embedding.from_pretrained freezes by default; most words were not in the vector file)",
    "roots": ["frozen-parameters"],
    "description": "from_pretrained keeps the table frozen, although most words got the small placeholder vector and have to be learned",
    "location": "Tagger.embed (freeze=True by default)",
    "shows_in": "full-data",
}

VOCAB, TAGS = 80, 6


class Tagger(nn.Module):
    def __init__(self, vectors, fixed, hidden=32):
        super().__init__()
        if fixed:
            self.embed = nn.Embedding.from_pretrained(vectors, freeze=False)
        else:
            self.embed = nn.Embedding.from_pretrained(vectors)
        self.rnn = nn.LSTM(vectors.shape[1], hidden, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, words):
        h, _ = self.rnn(self.embed(words))
        return self.out(h)


def load_vectors(g, dim=24, known=8):
    vectors = torch.zeros(VOCAB, dim)
    vectors[:known] = torch.randn(known, dim, generator=g)
    return vectors


def make_data(g, n_batches=8, batch=16, length=12):
    tag_of = torch.randint(0, TAGS, (VOCAB,), generator=g)
    data = []
    for _ in range(n_batches):
        words = torch.randint(0, VOCAB, (batch, length), generator=g)
        data.append((words, tag_of[words]))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 15)
    data = make_data(g)
    model = Tagger(load_vectors(g), fixed)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)

    def loss(model, batch):
        words, tags = batch
        return F.cross_entropy(model(words).reshape(-1, TAGS), tags.reshape(-1))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
