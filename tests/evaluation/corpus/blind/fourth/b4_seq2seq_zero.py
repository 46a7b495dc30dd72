"""Sequence reversal with a GRU encoder and decoder, an optimizer for each."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_seq2seq_zero",
    "source": "github.com/xingyizhou/CenterNet/issues/928 (zero_grad missing); own experience with two optimizers",
    "roots": ["missing-zero-grad"],
    "description": "the encoder optimizer is zeroed twice, the decoder's gradients are never cleared",
    "location": "dec_opt",
    "shows_in": "one-batch",
}


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, dim=24, hidden=48):
        super().__init__()
        self.encoder = nn.ModuleDict({"emb": nn.Embedding(vocab, dim), "gru": nn.GRU(dim, hidden, batch_first=True)})
        self.decoder = nn.ModuleDict({
            "emb": nn.Embedding(vocab + 1, dim),
            "gru": nn.GRU(dim, hidden, batch_first=True),
            "out": nn.Linear(hidden, vocab),
        })
        self.bos = vocab

    def forward(self, src, tgt):
        _, h = self.encoder["gru"](self.encoder["emb"](src))
        bos = torch.full_like(tgt[:, :1], self.bos)
        out, _ = self.decoder["gru"](self.decoder["emb"](torch.cat([bos, tgt[:, :-1]], 1)), h)
        return self.decoder["out"](out)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    src = torch.randint(0, 12, (256, 5))
    tgt = src.flip(1)
    data = list(zip(src.split(32), tgt.split(32)))
    model = Seq2Seq()
    enc_opt = torch.optim.SGD(model.encoder.parameters(), lr=0.3, momentum=0.9)
    dec_opt = torch.optim.SGD(model.decoder.parameters(), lr=0.3, momentum=0.9)

    def train_iter(batch):
        source, target = batch
        if fixed:
            enc_opt.zero_grad()
            dec_opt.zero_grad()
        else:
            enc_opt.zero_grad()
            enc_opt.zero_grad()
        logits = model(source, target)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.encoder.parameters(), 1.0)
        enc_opt.step()
        dec_opt.step()
        return loss

    return {"model": model, "optimizer": [enc_opt, dec_opt], "data": data, "step": train_iter}
