import math, random
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_seq2seq_scheduled", "source": "seq2seq tutorial", "roots": [], "checks": [],
        "description": "healthy attention seq2seq that reverses padded strings; inverse-sigmoid scheduled sampling", "location": ""}
PAD, BOS, EOS, V = 0, 1, 2, 11


class Seq2Seq(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=PAD)
        self.enc = nn.GRU(d, d // 2, batch_first=True, bidirectional=True)
        self.cell = nn.GRUCell(2 * d, d)
        self.query = nn.Linear(d, d)
        self.out = nn.Linear(2 * d, V)

    def forward(self, src, tgt, p_teacher, rng):
        mask = src == PAD
        keys, h = self.enc(self.emb(src))
        h = torch.cat([h[0], h[1]], 1)
        ctx = torch.zeros_like(h)
        tok, logits = torch.full((len(src),), BOS), []
        for t in range(tgt.shape[1]):
            h = self.cell(torch.cat([self.emb(tok), ctx], 1), h)
            a = torch.einsum("btd,bd->bt", keys, self.query(h)).masked_fill(mask, -1e9).softmax(1)
            ctx = torch.einsum("bt,btd->bd", a, keys)
            o = self.out(torch.cat([h, ctx], 1))
            logits.append(o)
            tok = tgt[:, t] if rng.random() < p_teacher else o.argmax(1)
        return torch.stack(logits, 1)


def strings(n, g):
    src, tgt = torch.zeros(n, 7, dtype=torch.long), torch.zeros(n, 7, dtype=torch.long)
    for i in range(n):
        L = int(torch.randint(3, 6, (), generator=g))
        s = torch.randint(3, V, (L,), generator=g)
        src[i, :L], src[i, L] = s, EOS
        tgt[i, :L], tgt[i, L] = s.flip(0), EOS
    return src, tgt


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    g = torch.Generator().manual_seed(seed)
    data = [strings(48, g) for _ in range(16)]
    net = Seq2Seq()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    it = [0]

    def step(batch):
        src, tgt = batch
        k = 120
        p = k / (k + math.exp(min(it[0] / k, 12)))
        it[0] += 1
        logits = net(src, tgt, p, rng)
        loss = F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=PAD)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
