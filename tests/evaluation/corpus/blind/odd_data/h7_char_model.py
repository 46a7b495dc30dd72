"""Character language model (GRU) on a synthetic recipe language, next-character targets."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "h7_char_model", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "The target is the input shifted by one character, as in every language model.",
    "location": "",
}

VERBS = "stir fry boil chop mix bake cool slice pour whisk".split()
NOUNS = "onions rice the eggs butter carrots some flour milk garlic beans leeks".split()
TIMES = "slowly briefly twice well again for long until brown".split()
CHARS = sorted(set("".join(VERBS + NOUNS + TIMES)) | set(" .,"))
STOI = {c: i for i, c in enumerate(CHARS)}


def text(rnd, sentences):
    out = []
    for _ in range(sentences):
        s = f"{rnd.choice(VERBS)} {rnd.choice(NOUNS)} and {rnd.choice(NOUNS)} {rnd.choice(TIMES)}"
        if rnd.random() < 0.4:
            s += f", then {rnd.choice(VERBS)} {rnd.choice(TIMES)}"
        out.append(s + ". ")
    return "".join(c for c in "".join(out) if c in STOI)


class Blocks(Dataset):
    def __init__(self, s, block=32):
        ids = torch.tensor([STOI[c] for c in s])
        self.blocks = [ids[i:i + block + 1] for i in range(0, len(ids) - block - 1, block)]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return self.blocks[i][:-1], self.blocks[i][1:]


class CharGRU(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), 24)
        self.rnn = nn.GRU(24, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(CHARS))

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed)
    train, val = Blocks(text(rnd, 600)), Blocks(text(rnd, 80))
    model = CharGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x).transpose(1, 2), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=24, shuffle=True, generator=g), "val": DataLoader(val, batch_size=32),
    }
