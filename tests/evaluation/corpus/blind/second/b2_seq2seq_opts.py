"""Sequence to sequence: reverse a number string, with one optimizer for the encoder and one for the decoder."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_seq2seq_opts",
    "source": "own experience (model.zero_grad between the steps of two optimizers)",
    "roots": ["gradients-cleared-before-step"],
    "description": "after the decoder's step model.zero_grad() clears the encoder's gradients too, before the encoder's step",
    "location": "model.zero_grad() before enc_opt.step()",
    "shows_in": "wiring",
}
VOCAB, LENGTH, BOS = 12, 7, 0


class Encoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src):
        return self.rnn(self.emb(src))[1]


class Decoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tgt_in, hidden):
        out, _ = self.rnn(self.emb(tgt_in), hidden)
        return self.out(out)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, src, tgt_in):
        return self.decoder(tgt_in, self.encoder(src))


def make_data(n_batches=8, batch_size=32):
    data = []
    for _ in range(n_batches):
        src = torch.randint(1, VOCAB, (batch_size, LENGTH))
        tgt = src.flip(1)
        tgt_in = torch.cat([torch.full((batch_size, 1), BOS), tgt[:, :-1]], 1)
        data.append((src, tgt_in, tgt))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Seq2Seq()
    enc_opt = torch.optim.Adam(model.encoder.parameters(), lr=5e-3)
    dec_opt = torch.optim.Adam(model.decoder.parameters(), lr=5e-3)

    def step(batch):
        src, tgt_in, tgt = batch
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        loss.backward()
        dec_opt.step()
        if not fixed:
            model.zero_grad()
        enc_opt.step()
        model.zero_grad()
        return loss.detach()

    return {"model": model, "optimizer": [enc_opt, dec_opt], "data": data, "step": step}
