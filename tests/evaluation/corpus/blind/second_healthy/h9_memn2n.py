import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_memn2n", "source": "bAbI reproduction", "roots": [], "checks": [],
        "description": "healthy two-hop memory network, adjacent weight tying, position encoding of the stories", "location": ""}
PEOPLE, PLACES = 5, 6           # vocabulary: 0 pad, 1..5 people, 6..11 places, 12 'where'


class MemN2N(nn.Module):
    def __init__(self, vocab=13, d=32, hops=2, slots=6):
        super().__init__()
        self.E = nn.ModuleList([nn.Embedding(vocab, d, padding_idx=0) for _ in range(hops + 1)])
        self.T = nn.ParameterList([nn.Parameter(torch.randn(slots, d) * 0.1) for _ in range(hops + 1)])
        for e in self.E:
            nn.init.normal_(e.weight, std=0.3)
            e.weight.data[0] = 0
        self.hops = hops

    def forward(self, story, q, n):
        mask = torch.arange(story.shape[1])[None] >= n[:, None]
        u = self.E[0](q).sum(1)
        for k in range(self.hops):
            m = self.E[k](story).sum(2) + self.T[k]
            c = self.E[k + 1](story).sum(2) + self.T[k + 1]
            p = torch.einsum("bsd,bd->bs", m, u).masked_fill(mask, -1e9).softmax(1)
            u = u + torch.einsum("bs,bsd->bd", p, c)
        return u @ self.E[-1].weight.T            # answer matrix is the last embedding


def stories(n, g):
    s, lens = torch.zeros(n, 6, 2, dtype=torch.long), torch.randint(3, 6, (n,), generator=g)
    q, a = torch.zeros(n, 2, dtype=torch.long), torch.zeros(n, dtype=torch.long)
    for i in range(n):
        L = int(lens[i])
        who = torch.randperm(PEOPLE, generator=g)[:L] + 1
        where = torch.randint(0, PLACES, (L,), generator=g) + 6
        s[i, :L, 0], s[i, :L, 1] = who, where
        j = int(torch.randint(0, L, (), generator=g))
        q[i, 0], q[i, 1], a[i] = 12, who[j], where[j]
    return {"story": s, "query": q, "len": lens, "answer": a}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [stories(32, g) for _ in range(16)]
    net = MemN2N()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 ** (s // 150))

    def step(b):
        opt.zero_grad()
        loss = F.cross_entropy(net(b["story"], b["query"], b["len"]), b["answer"])
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 40.0)
        opt.step()
        sched.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
