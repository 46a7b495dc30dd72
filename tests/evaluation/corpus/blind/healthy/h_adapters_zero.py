"""Bottleneck adapters in a frozen transformer encoder."""
import torch
import torch.nn as nn

META = {
    "id": "h_adapters_zero",
    "description": "Frozen TransformerEncoderLayer weights; the adapters' up-projections start at zero, so the down-projections get no gradient in the first step.",
    "roots": [],
}


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck=8):
        super().__init__()
        self.down, self.up = nn.Linear(dim, bottleneck), nn.Linear(bottleneck, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(torch.nn.functional.gelu(self.down(x)))


class AdaptedEncoder(nn.Module):
    def __init__(self, vocab=30, dim=32, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True) for _ in range(depth))
        self.adapters = nn.ModuleList(Adapter(dim) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 3)

    def freeze_base(self):
        self.emb.requires_grad_(False)
        self.layers.requires_grad_(False)

    def forward(self, ids):
        x = self.emb(ids)
        for layer, adapter in zip(self.layers, self.adapters):
            x = adapter(layer(x))
        return self.head(self.norm(x).mean(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        y = torch.randint(0, 3, (16,))
        ids = torch.randint(0, 30, (16, 8))
        hit = torch.rand(16, 8) < 0.4
        ids = torch.where(hit, 3 * torch.randint(0, 10, (16, 8)) + y[:, None], ids)
        data.append((ids, y))
    model = AdaptedEncoder()
    base, word = [*model.emb.parameters(), *model.layers.parameters()], nn.Linear(32, 10)
    pre = torch.optim.Adam([*base, *word.parameters()], lr=2e-3)
    for _ in range(60):                          # "pretraining" of the base on another task
        ids = torch.randint(0, 30, (16, 8))
        h = model.layers[1](model.layers[0](model.emb(ids)))
        pre.zero_grad()
        torch.nn.functional.cross_entropy(word(h).flatten(0, 1), (ids.roll(1, 1) // 3).flatten()).backward()
        pre.step()
    model.zero_grad(set_to_none=True)
    model.freeze_base()
    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=5e-3)

    def loss(model, batch):
        ids, y = batch
        return torch.nn.functional.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
