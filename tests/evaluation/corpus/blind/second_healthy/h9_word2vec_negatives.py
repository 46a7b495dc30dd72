import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_word2vec_negatives", "source": "word2vec from scratch", "roots": [], "checks": [],
        "description": "healthy skip-gram with unigram^0.75 negatives, output table starts at zero, Adagrad with linear decay", "location": ""}


class SGNS(nn.Module):
    def __init__(self, vocab, d=16):
        super().__init__()
        self.inp, self.out = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        nn.init.uniform_(self.inp.weight, -0.5 / d ** 0.5, 0.5 / d ** 0.5)
        nn.init.zeros_(self.out.weight)

    def forward(self, centre, context, noise):
        v = self.inp(centre)
        pos = F.logsigmoid((v * self.out(context)).sum(1))
        neg = F.logsigmoid(-torch.bmm(self.out(noise), v[:, :, None]).squeeze(2)).sum(1)
        return -(pos + neg).mean()


def pairs(g, vocab=40, topics=5, n=6000, window=2):
    topic = torch.zeros(n, dtype=torch.long)
    for i in range(1, n):                                  # sticky topics
        topic[i] = topic[i - 1] if torch.rand((), generator=g) < 0.95 else torch.randint(0, topics, (), generator=g)
    stream = topic * (vocab // topics) + (torch.rand(n, generator=g) ** 1.3 * (vocab // topics)).long()
    out = []
    for off in (-2, -1, 1, 2):
        idx = torch.arange(window, n - window)
        out.append(torch.stack([stream[idx], stream[idx + off]], 1))
    p = torch.cat(out)
    return p[torch.randperm(len(p), generator=g)][:256 * 40], stream.bincount(minlength=vocab).float()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    p, freq = pairs(torch.Generator().manual_seed(seed))
    noise = freq.pow(0.75)
    model = SGNS(40)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=2000)

    def step(batch):
        c, o = batch.unbind(1)
        loss = model(c, o, torch.multinomial(noise, len(c) * 5, True).view(-1, 5))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": list(p.split(256)), "step": step}
