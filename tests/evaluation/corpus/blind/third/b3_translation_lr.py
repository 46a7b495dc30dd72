"""Toy translation: encoder-decoder transformer that reverses and re-maps a sentence."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_translation_lr",
    "source": "CASES.md K lr_hot, G R3",
    "roots": ["lr-too-high"],
    "description": "Adam at 0.1 on a transformer",
    "location": "optimizer: lr=0.1",
    "shows_in": "one-batch",
}

VOCAB, LENGTH, BOS = 20, 7, 0


class Translator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.src = nn.Embedding(VOCAB, dim)
        self.tgt = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LENGTH, dim)
        self.core = nn.Transformer(dim, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt):
        pos = self.pos(torch.arange(LENGTH))
        mask = torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), diagonal=1)
        h = self.core(self.src(src) + pos, self.tgt(tgt) + pos, tgt_mask=mask)
        return self.out(h)


def make_data(g, n_batches=8, batch=16):
    lexicon = torch.randperm(VOCAB - 1, generator=g) + 1
    data = []
    for _ in range(n_batches):
        src = torch.randint(1, VOCAB, (batch, LENGTH), generator=g)
        data.append({"src": src, "tgt": lexicon[src.flip(1) - 1]})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 36)
    data = make_data(g)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3 if fixed else 0.1, betas=(0.9, 0.98))

    def step(batch):
        model.train()
        tgt = batch["tgt"]
        shifted = torch.cat([torch.full((len(tgt), 1), BOS), tgt[:, :-1]], dim=1)
        logits = model(batch["src"], shifted)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), tgt.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
