import math
import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_two_tower_clip", "source": "retrieval company code", "roots": [], "checks": [],
        "description": "healthy two-tower retrieval: EmbeddingBag history tower, symmetric in-batch softmax, log-Q correction, learned clamped temperature",
        "location": ""}


class Towers(nn.Module):
    def __init__(self, items=80, d=24):
        super().__init__()
        self.hist = nn.EmbeddingBag(items, d, mode="mean")
        self.user = nn.Sequential(nn.Linear(d + 3, 48), nn.GELU(), nn.Linear(48, d))
        self.item_id = nn.Embedding(items, d)
        self.item = nn.Sequential(nn.Linear(d + 6, 48), nn.GELU(), nn.Linear(48, d))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.2)))
        nn.init.normal_(self.hist.weight, std=0.2), nn.init.normal_(self.item_id.weight, std=0.2)

    def forward(self, b):
        u = self.user(torch.cat([self.hist(b["hist"], b["offsets"]), b["profile"]], 1))
        i = self.item(torch.cat([self.item_id(b["item"]), b["content"]], 1))
        return F.normalize(u, dim=1) @ F.normalize(i, dim=1).T * self.logit_scale.exp()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    genre = torch.arange(80) % 8
    content = torch.randn(8, 6, generator=g)[genre] + 0.5 * torch.randn(80, 6, generator=g)
    pop = 1 / (1 + torch.arange(80.0)) ** 0.3
    data = []
    for _ in range(16):
        taste = torch.randint(0, 8, (48,), generator=g)
        hist, offs, item = [], [], []
        for t in taste:
            w = pop * (0.05 + (genre == t).float())
            n = int(torch.randint(2, 7, (), generator=g))
            offs.append(len(hist))
            hist += torch.multinomial(w, n, False, generator=g).tolist()
            item.append(int(torch.multinomial(pop * (genre == t), 1, generator=g)))
        item = torch.tensor(item)
        data.append({"hist": torch.tensor(hist), "offsets": torch.tensor(offs), "profile": torch.randn(48, 3, generator=g), "item": item,
                     "content": content[item], "logq": (pop / pop.sum()).log()[item]})
    model = Towers()
    opt = torch.optim.AdamW([{"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 1e-3},
                             {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0}], lr=6e-3)

    def step(b):
        s = model(b)
        dup = (b["item"][:, None] == b["item"][None]) & ~torch.eye(48, dtype=torch.bool)
        tgt = torch.arange(48)
        a = F.cross_entropy((s - b["logq"][None]).masked_fill(dup, -1e9), tgt)
        c = F.cross_entropy(s.T.masked_fill(dup, -1e9), tgt)
        loss = (a + c) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(100))
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
