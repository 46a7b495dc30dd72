"""Seq2seq reversal of digit strings with scheduled sampling."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_seq2seq_forcing",
    "description": "Teacher forcing with a coin per step: now and then the model's own argmax is fed back, so the loss is noisy; the argmax path carries no gradient on purpose.",
    "roots": [],
}


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, dim=32, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.enc = nn.GRU(dim, hidden, batch_first=True)
        self.dec = nn.GRUCell(dim, hidden)
        self.att = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(2 * hidden, vocab)

    def forward(self, src, tgt, forcing):
        mem, h = self.enc(self.emb(src))
        h, tok, logits = h[0], torch.full((len(src),), 1), []
        for t in range(tgt.shape[1]):
            h = self.dec(self.emb(tok), h)
            w = (mem @ self.att(h)[..., None]).softmax(1)
            logits.append(self.out(torch.cat([h, (w * mem).sum(1)], 1)))
            tok = tgt[:, t] if torch.rand(()) < forcing else logits[-1].argmax(1)
        return torch.stack(logits, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        src = torch.randint(2, 12, (24, 6))
        data.append((src, src.flip(1)))
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        src, tgt = batch
        return F.cross_entropy(model(src, tgt, forcing=0.8).flatten(0, 1), tgt.flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
