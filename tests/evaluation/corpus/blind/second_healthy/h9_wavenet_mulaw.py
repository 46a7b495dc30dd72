import math
import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_wavenet_mulaw", "source": "audio generation repo", "roots": [], "checks": [],
        "description": "healthy WaveNet on mu-law tokens: gated dilated causal convolutions, global pitch condition, skip sum", "location": ""}
Q = 32


def mulaw(x):
    y = x.sign() * torch.log1p((Q - 1) * x.abs()) / math.log(Q)
    return ((y + 1) / 2 * (Q - 1) + 0.5).long().clamp(0, Q - 1)


class WaveNet(nn.Module):
    def __init__(self, c=24, dil=(1, 2, 4, 8)):
        super().__init__()
        self.emb = nn.Embedding(Q, c)
        self.cond = nn.Linear(1, 2 * c * len(dil))
        self.filt = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=d) for d in dil])
        self.res = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in dil[:-1]])
        self.skip = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in dil])
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, Q, 1))
        self.dil = dil

    def forward(self, tok, pitch):
        x, total = self.emb(tok).transpose(1, 2), 0
        cond = self.cond(pitch[:, None]).chunk(len(self.dil), 1)
        for k, d in enumerate(self.dil):
            a, b = (self.filt[k](F.pad(x, (d, 0))) + cond[k][..., None]).chunk(2, 1)
            h = torch.tanh(a) * torch.sigmoid(b)
            total = total + self.skip[k](h)
            if k < len(self.res):
                x = x + self.res[k](h)
        return self.post(total)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    f0 = torch.rand(192, generator=g) * 2 - 1
    t = torch.arange(65) / 65
    f = 3 + 2 * f0[:, None]
    x = 0.7 * torch.sin(6.2832 * (f * t + torch.rand(192, 1, generator=g))) + 0.2 * torch.sin(12.566 * f * t)
    tok = mulaw(x.clamp(-1, 1))
    net = WaveNet()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5) * (0.5 ** (s / 300)))

    def step(b):
        logits = net(b["tok"][:, :-1], b["pitch"])
        loss = F.cross_entropy(logits, b["tok"][:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        return loss.item()

    data = [{"tok": a, "pitch": p} for a, p in zip(tok.split(8), f0.split(8))]
    return {"model": net, "optimizer": opt, "data": data, "step": step}
