import torch
from torch import nn

META = {"id": "t9_listings", "source": "real estate company code, batches are dictionaries", "roots": [],
        "checks": ["generalizes"], "description": "healthy: several fields, words with a mask, numbers and a category; two targets", "location": ""}

WORDS, LEN = 50, 12


def listings(n, g):
    words = torch.randint(1, WORDS, (n, LEN), generator=g)
    length = torch.randint(5, LEN + 1, (n,), generator=g)
    mask = torch.arange(LEN)[None] < length[:, None]
    words = words * mask
    numbers = torch.randn(n, 3, generator=g)
    area = torch.randint(0, 7, (n,), generator=g)
    worth = torch.linspace(-1, 1, WORDS)
    tone = (worth[words] * mask).sum(1) / length
    price = 0.8 * numbers[:, 0] + 0.4 * numbers[:, 1] ** 2 + torch.linspace(-1, 1, 7)[area] + 2 * tone
    price = price - 0.4 + 0.08 * torch.randn(n, generator=g)
    sold = (price < 0.5 * numbers[:, 2]).float()
    return {"words": words, "mask": mask, "numbers": numbers, "area": area, "price": price, "sold": sold}


def cut(rows, size):
    n = len(rows["price"])
    return [{k: v[i:i + size] for k, v in rows.items()} for i in range(0, n, size)]


class ListingModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(WORDS, 16, padding_idx=0)
        self.area = nn.Embedding(7, 6)
        self.trunk = nn.Sequential(nn.Linear(16 + 6 + 3, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU())
        self.price = nn.Linear(64, 1)
        self.sold = nn.Linear(64, 1)

    def forward(self, batch):
        m = batch["mask"].unsqueeze(-1).float()
        text = (self.word(batch["words"]) * m).sum(1) / m.sum(1)
        h = self.trunk(torch.cat([text, self.area(batch["area"]), batch["numbers"]], 1))
        return {"price": self.price(h).squeeze(1), "sold": self.sold(h).squeeze(1)}


def total_loss(model, batch):
    out = model(batch)
    mse = nn.functional.mse_loss(out["price"], batch["price"])
    bce = nn.functional.binary_cross_entropy_with_logits(out["sold"], batch["sold"])
    return mse + 0.5 * bce


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 27)
    model = ListingModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return {"model": model, "optimizer": optimizer, "loss": total_loss,
            "data": cut(listings(4096, g), 32), "val": cut(listings(384, g), 32)}
