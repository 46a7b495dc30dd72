import random
import torch
from torch import nn

META = {"id": "t9_recipe_lm", "source": "minimal language model repository on recipes", "roots": [],
        "checks": ["generalizes"], "description": "healthy: a language model whose validation text shares its phrases with training", "location": ""}

GRAMMAR = {
    "S": ["V the N P .", "V the N and the N .", "V P , then V the N ."],
    "V": ["chop", "fry", "boil", "mix", "season", "grate"],
    "N": ["onion", "carrot", "potato", "leek", "A onion", "A carrot", "A fish"],
    "A": ["fresh", "small", "red", "large"],
    "P": ["in a pan", "for M minutes", "with salt", "over low heat"],
    "M": ["two", "five", "ten"],
}


def expand(symbol, rnd):
    if symbol not in GRAMMAR:
        return [symbol]
    return [w for s in rnd.choice(GRAMMAR[symbol]).split() for w in expand(s, rnd)]


def text(n_words, rnd):
    words = []
    while len(words) < n_words:
        words += expand("S", rnd)
    return words[:n_words]


class TinyLM(nn.Module):
    def __init__(self, n, d=48):
        super().__init__()
        self.wte = nn.Embedding(n, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.lm_head = nn.Linear(d, n)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.wte(ids))[0])


def chunk(words, vocab, length=20, batch=16):
    ids = torch.tensor([vocab[w] for w in words])
    rows = ids[:len(ids) // (length + 1) * (length + 1)].view(-1, length + 1)
    return list(rows.split(batch))


def lm_loss(model, rows):
    logits = model(rows[:, :-1])
    return nn.functional.cross_entropy(logits.reshape(-1, logits.size(-1)), rows[:, 1:].reshape(-1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 44)
    train, val = text(21 * 16 * 120, rnd), text(21 * 16 * 8, rnd)
    vocab = {w: i for i, w in enumerate(sorted(set(train)))}
    model = TinyLM(len(vocab))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95))
    return {"model": model, "optimizer": optimizer, "data": chunk(train, vocab), "val": chunk(val, vocab), "loss": lm_loss}
