import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_gradual_unfreeze", "source": "ULMFiT-style fine-tuning", "roots": [], "checks": [],
        "description": "healthy fine-tuning: body pre-trained in build, frozen at first, thawed from the top at steps 15 and 30, discriminative rates",
        "location": ""}


class TextCNN(nn.Module):
    def __init__(self, vocab=60, out=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24, padding_idx=0)
        self.low = nn.Conv1d(24, 32, 3, padding=1)
        self.high = nn.Conv1d(32, 48, 3, padding=1)
        self.head = nn.Linear(96, out)

    def forward(self, ids):
        keep = (ids > 0).float()[:, None]
        h = F.gelu(self.low(self.emb(ids).transpose(1, 2))) * keep
        h = F.gelu(self.high(h)) * keep
        return self.head(torch.cat([h.sum(2) / keep.sum(2), h.masked_fill(keep == 0, -10).amax(2)], 1))


def docs(n, words, g):
    y = torch.randint(0, len(words), (n,), generator=g)
    ids = torch.randint(1, 60, (n, 16), generator=g)
    hit = torch.rand(n, 16, generator=g) < 0.3
    ids = torch.where(hit, words[y].gather(1, torch.randint(0, words.shape[1], (n, 16), generator=g)), ids)
    lens = torch.randint(8, 17, (n, 1), generator=g)
    return ids * (torch.arange(16)[None] < lens), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    words = torch.randperm(59, generator=g)[:48].view(6, 8) + 1
    net = TextCNN(out=6)
    pre = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(60):
        x, y = docs(32, words, g)
        pre.zero_grad()
        F.cross_entropy(net(x), y).backward()
        pre.step()
    coarse = torch.stack([words[:2].flatten(), words[2:4].flatten(), words[4:].flatten()])
    net.head = nn.Linear(96, 3)
    data = [docs(32, coarse, g) for _ in range(12)]
    net.zero_grad(set_to_none=True)
    groups = [net.head, net.high, net.low, net.emb]
    opt = torch.optim.AdamW([{"params": m.parameters(), "lr": 4e-3 / 2.6 ** i} for i, m in enumerate(groups)], weight_decay=0.01)
    for m in groups[1:]:
        m.requires_grad_(False)
    thaw, t = {15: net.high, 30: net.low, 45: net.emb}, [0]

    def step(batch):
        if t[0] in thaw:
            thaw[t[0]].requires_grad_(True)
        t[0] += 1
        loss = F.cross_entropy(net(batch[0]), batch[1])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
