import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

META = {"id": "h3_seq2seq_teacher_forcing", "source": "healthy; GRU attention translation tutorial",
        "roots": [], "checks": [], "description": "variable-length token mapping with attention, packing, padding mask, pad ignored in the loss", "location": ""}

PAD, BOS, EOS = 0, 1, 2


class Translator(nn.Module):
    def __init__(self, v=16, d=48):
        super().__init__()
        self.src = nn.Embedding(v, d, padding_idx=PAD)
        self.tgt = nn.Embedding(v, d, padding_idx=PAD)
        self.enc = nn.GRU(d, d // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(d, d)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(2 * d, v)

    def forward(self, src, lens, tgt_in):
        packed = pack_padded_sequence(self.src(src), lens, batch_first=True, enforce_sorted=False)
        mem, h = self.enc(packed)
        mem, _ = pad_packed_sequence(mem, batch_first=True, total_length=src.shape[1])
        h0 = torch.tanh(self.bridge(torch.cat([h[0], h[1]], -1))).unsqueeze(0)
        dec, _ = self.dec(self.tgt(tgt_in), h0)
        att = (dec @ mem.transpose(1, 2)) / mem.shape[-1] ** 0.5
        att = att.masked_fill((src == PAD)[:, None], float("-inf")).softmax(-1)
        return self.out(torch.cat([dec, att @ mem], -1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 20)
    table = torch.randperm(13, generator=g) + 3

    def batch(n=32):
        lens = torch.randint(4, 9, (n,), generator=g)
        src, tgt = torch.zeros(n, 8, dtype=torch.long), torch.zeros(n, 10, dtype=torch.long)
        for i, L in enumerate(lens.tolist()):
            s = torch.randint(3, 16, (L,), generator=g)
            src[i, :L] = s
            tgt[i, 0] = BOS
            tgt[i, 1:L + 1] = table[s - 3]
            tgt[i, L + 1] = EOS
        return src, lens, tgt

    model = Translator()
    opt = torch.optim.Adam(model.parameters(), lr=6e-3)

    def loss(m, b):
        src, lens, tgt = b
        logits = m(src, lens, tgt[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)

    return {"model": model, "optimizer": opt, "data": [batch() for _ in range(40)], "loss": loss}
