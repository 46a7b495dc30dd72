"""GRU encoder-decoder that translates codes into reversed codes (teacher forcing)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_seq2seq_rev",
    "source": "PyTorch forum classic: optimizer.zero_grad() forgotten",
    "roots": ["missing-zero-grad"],
    "description": "gradients are never zeroed and add up from step to step",
    "location": "step: optimizer.zero_grad() missing",
    "shows_in": "full-data",
}


class Seq2Seq(nn.Module):
    def __init__(self, vocab, dim=24, hidden=64):
        super().__init__()
        self.src_emb = nn.Embedding(vocab, dim)
        self.tgt_emb = nn.Embedding(vocab + 1, dim)
        self.encoder = nn.GRU(dim, hidden, batch_first=True)
        self.decoder = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, src, tgt_in):
        _, state = self.encoder(self.src_emb(src))
        dec, _ = self.decoder(self.tgt_emb(tgt_in), state)
        return self.out(dec)


def make_codes(n, vocab, length=5):
    src = torch.randint(0, vocab, (n, length))
    table = torch.randperm(vocab)
    tgt = table[src].flip(1)
    bos = torch.full((n, 1), vocab)
    return src, torch.cat([bos, tgt[:, :-1]], dim=1), tgt


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, bs = 8, 32
    src, tgt_in, tgt = make_codes(10 * bs, vocab)
    data = list(zip(src.split(bs), tgt_in.split(bs), tgt.split(bs)))
    model = Seq2Seq(vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        src, tgt_in, tgt = batch
        if fixed:
            optimizer.zero_grad()
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.transpose(1, 2), tgt)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
