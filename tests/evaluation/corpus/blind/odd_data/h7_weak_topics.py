"""Topic of short news from bag-of-words counts, labels by keyword rules."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "h7_weak_topics", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "The rules are wrong for about 7 % of the texts, which is usual for weak labels.",
    "location": "",
}


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    topics, vocab = 5, 120
    lean = rng.gamma(0.5, 1.0, (topics, vocab))
    lean = lean / lean.sum(1, keepdims=True)

    def part(n):
        y = rng.integers(0, topics, n)
        x = np.stack([rng.multinomial(rng.integers(12, 30), lean[k]) for k in y])
        wrong = rng.random(n) < 0.07
        y = np.where(wrong, (y + rng.integers(1, topics, n)) % topics, y)
        return TensorDataset(torch.tensor(np.sqrt(x), dtype=torch.float32), torch.from_numpy(y))

    train, val = part(1000), part(200)
    model = nn.Sequential(nn.Linear(vocab, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, topics))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model, "optimizer": optimizer, "loss": loss,
        "data": DataLoader(train, batch_size=40, shuffle=True, generator=g), "val": DataLoader(val, batch_size=100),
    }
