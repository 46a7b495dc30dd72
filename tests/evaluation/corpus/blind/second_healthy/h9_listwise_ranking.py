import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_listwise_ranking", "source": "search ranking team code", "roots": [], "checks": [],
        "description": "healthy learning to rank: ragged candidate lists, log1p of raw counts, ListNet plus pairwise term",
        "location": ""}


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.doc = nn.Sequential(nn.Linear(8, 48), nn.GELU())
        self.att = nn.MultiheadAttention(48, 2, batch_first=True)
        self.score = nn.Sequential(nn.Linear(48, 24), nn.GELU(), nn.Linear(24, 1))

    def forward(self, raw, mask):
        x = torch.cat([raw[..., :4].log1p(), raw[..., 4:]], -1)
        h = self.doc(self.norm(x))
        h = h + self.att(h, h, h, key_padding_mask=~mask, need_weights=False)[0]
        return self.score(h).squeeze(-1).masked_fill(~mask, -1e4)


def query(g, w):
    n = int(torch.randint(3, 11, (), generator=g))
    counts = torch.exp(torch.randn(n, 4, generator=g) * 1.5 + 3).round()         # clicks, views ... heavy tailed
    dense = torch.randn(n, 4, generator=g)
    s = torch.cat([(counts.log1p() - 3) / 1.5, dense], 1) @ w
    rel = (s[:, None] > s[None]).float().mean(1)
    return torch.cat([counts, dense], 1), (rel * 4).floor().clamp(max=3)


def collate(qs):
    L = max(len(r) for _, r in qs)
    x, r, m = torch.zeros(len(qs), L, 8), torch.zeros(len(qs), L), torch.zeros(len(qs), L, dtype=torch.bool)
    for k, (a, b) in enumerate(qs):
        x[k, :len(b)], r[k, :len(b)], m[k, :len(b)] = a, b, True
    return x, r, m


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(8, generator=g)
    lists = [query(g, w) for _ in range(320)]
    data = torch.utils.data.DataLoader(lists, 32, shuffle=True, collate_fn=collate, generator=torch.Generator().manual_seed(seed))
    model = Ranker()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.StepLR(opt, 100, 0.5)

    def step(batch):
        x, rel, m = batch
        s = model(x, m)
        tgt = F.softmax(rel.masked_fill(~m, -1e4), 1)
        listnet = -(tgt * F.log_softmax(s, 1)).sum(1).mean()
        better = (rel[:, :, None] > rel[:, None]) & m[:, :, None] & m[:, None]
        pair = F.softplus(-(s[:, :, None] - s[:, None])[better]).mean()
        loss = listnet + 0.5 * pair
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
