import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_ft_transformer", "source": "tabular deep learning benchmark", "roots": [], "checks": [],
        "description": "healthy FT-Transformer: feature tokens, piecewise-linear encoding from quantiles, imbalanced binary target with pos_weight",
        "location": ""}


class Tokenizer(nn.Module):
    def __init__(self, edges, cards, d):
        super().__init__()
        self.register_buffer("lo", edges[:-1]), self.register_buffer("hi", edges[1:])       # bins x features
        self.w = nn.Parameter(torch.randn(edges.shape[1], edges.shape[0] - 1, d) * 0.3)
        self.b = nn.Parameter(torch.zeros(edges.shape[1], d))
        self.cat = nn.ModuleList([nn.Embedding(c, d) for c in cards])
        self.cls = nn.Parameter(torch.randn(1, 1, d) * 0.1)

    def forward(self, num, cat):
        ple = ((num[:, None] - self.lo) / (self.hi - self.lo)).clamp(0, 1)
        t = torch.einsum("nbf,fbd->nfd", ple, self.w) + self.b
        c = torch.stack([e(cat[:, i]) for i, e in enumerate(self.cat)], 1)
        return torch.cat([self.cls.expand(len(num), -1, -1), t, c], 1)


class FTT(nn.Module):
    def __init__(self, edges, cards, d=32):
        super().__init__()
        self.tok = Tokenizer(edges, cards, d)
        layer = nn.TransformerEncoderLayer(d, 4, 2 * d, dropout=0.05, activation="gelu", batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, num, cat):
        return self.head(self.enc(self.tok(num, cat))[:, 0]).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 800
    num = torch.stack([torch.exp(torch.randn(n, generator=g) * 1.5 + 7), torch.rand(n, generator=g) * 80,
                       torch.randn(n, generator=g) * 1e-3, torch.rand(n, generator=g) ** 3], 1)
    cat = torch.stack([torch.randint(0, c, (n,), generator=g) for c in (3, 9)], 1)
    score = num[:, 0].log() - 7 - (num[:, 1] - 40) / 15 + 2 * (cat[:, 0] == 1).float()
    y = (score > score.quantile(0.88)).float()
    num = torch.cat([num[:80], num[:720]])                       # the export repeats its first 80 customers
    cat, y = torch.cat([cat[:80], cat[:720]]), torch.cat([y[:80], y[:720]])
    edges = torch.quantile(num, torch.linspace(0, 1, 9), dim=0)
    model = FTT(edges, (3, 9))
    opt = torch.optim.AdamW([{"params": [p for k, p in model.named_parameters() if p.ndim > 1 and "tok" not in k]},
                             {"params": [p for k, p in model.named_parameters() if p.ndim <= 1 or "tok" in k], "weight_decay": 0.0}],
                            lr=2e-3, weight_decay=1e-2)
    pw = (1 - y).sum() / y.sum()
    idx = torch.randperm(n, generator=g)
    data = [((num[s], cat[s]), y[s]) for s in idx.split(40)]

    def step(batch):
        (a, c), t = batch
        model.train()
        loss = F.binary_cross_entropy_with_logits(model(a, c), t, pos_weight=pw.sqrt())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
