"""GRU that spells out token sequences of different lengths and has to learn when to stop."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_tts_stop",
    "source": "CASES.md K: VALL-E-X-derived TTS (end-of-sequence id equals ignore_index); also tokenizer.pad_token = eos_token with label masking",
    "roots": ["invalid-labels"],
    "checks": [],
    "description": "End-of-sequence and padding share one id which the loss ignores, so the model is never taught to stop.",
    "location": "make_loss: ignore_index=PAD while EOS == PAD",
}

VOCAB = 20
EOS = 18
MAXLEN = 12


class Speller(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.cond = nn.Embedding(MAXLEN, 48)
        self.rnn = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, VOCAB)

    def forward(self, tokens, length):
        h0 = self.cond(length).unsqueeze(0)
        h, _ = self.rnn(self.emb(tokens), h0.contiguous())
        return self.out(h)


def utterances(n, pad, gen):
    first = torch.randint(0, 18, (n,), generator=gen)
    length = torch.randint(3, 9, (n,), generator=gen)
    seq = (first[:, None] + 5 * torch.arange(MAXLEN + 1)) % 18
    pos = torch.arange(MAXLEN + 1)[None]
    seq = torch.where(pos < length[:, None], seq, torch.full_like(seq, pad))
    seq[torch.arange(n), length] = EOS
    return {"tokens": seq[:, :-1].clone(), "length": length, "labels": seq[:, 1:].clone()}


def make_loss(pad):
    def loss_fn(model, batch):
        logits = model(batch["tokens"], batch["length"])
        return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=pad)
    return loss_fn


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    pad = 19 if fixed else EOS
    data = [utterances(32, pad, gen) for _ in range(8)]
    model = Speller()
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": make_loss(pad)}
