"""Intent of search queries, token ids padded to 40 with an attention mask, dict batches."""
import numpy as np
import torch
from torch import nn

META = {
    "id": "h7_short_queries", "source": "own", "roots": [], "checks": ["data_is_healthy"],
    "description": "Queries have 5 to 12 tokens and are padded to 40: the last 28 columns are always the padding id and the mask is 0 there.",
    "location": "",
}

PAD_TO, VOCAB, INTENTS = 40, 600, 4


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32, padding_idx=0)
        self.fc = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, INTENTS))

    def forward(self, ids, mask):
        h = self.emb(ids) * mask[..., None]
        return self.fc(h.sum(1) / mask.sum(1, keepdim=True))


def build(fixed=True, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    def batch(size):
        y = rng.integers(0, INTENTS, size)
        ids = np.zeros((size, PAD_TO), np.int64)
        for row, k in zip(ids, y):
            m = rng.integers(5, 13)
            own = 300 + k * 75 + rng.integers(0, 75, m)
            row[:m] = np.where(rng.random(m) < 0.4, own, rng.integers(1, 300, m))
        ids = torch.from_numpy(ids)
        return {"input_ids": ids, "attention_mask": (ids != 0).float(), "labels": torch.from_numpy(y)}

    data, val = [batch(32) for _ in range(30)], [batch(64) for _ in range(3)]
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def loss(model, batch):
        return nn.functional.cross_entropy(model(batch["input_ids"], batch["attention_mask"]), batch["labels"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss, "val": val}
