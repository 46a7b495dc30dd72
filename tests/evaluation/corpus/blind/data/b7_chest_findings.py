"""Multi-label finding classifier on precomputed chest x-ray embeddings, dict batches."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "b7_chest_findings",
    "source": "own; pattern: CheXpert style report labels, -1 = uncertain",
    "roots": ["invalid-labels"],
    "checks": ["data_is_healthy"],
    "description": "The report labeller writes -1 for uncertain findings; the -1 stay in the targets of a binary cross entropy.",
    "location": "batch['labels'] of training and validation data",
}

FINDINGS = ["cardiomegaly", "edema", "consolidation", "atelectasis", "effusion"]
_DIRECTIONS = np.random.default_rng(77).normal(size=(len(FINDINGS), 64)) / 4.0


class Studies(Dataset):
    def __init__(self, n, seed, uncertain_to=None):
        rng = np.random.default_rng(seed)
        emb = rng.normal(size=(n, 64))
        score = emb @ _DIRECTIONS.T + rng.normal(0, 0.5, (n, len(FINDINGS)))
        labels = (score > 0.4).astype(np.float32)
        unsure = np.abs(score - 0.4) < 0.3
        labels[unsure] = -1.0
        if uncertain_to is not None:
            labels[labels < 0] = uncertain_to
        self.emb, self.labels = emb.astype(np.float32), labels

    def __len__(self):
        return len(self.emb)

    def __getitem__(self, i):
        return {"embedding": torch.from_numpy(self.emb[i]), "labels": torch.from_numpy(self.labels[i])}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    policy = 1.0 if fixed else None
    train, val = Studies(800, seed, policy), Studies(160, seed + 500, policy)
    model = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, len(FINDINGS)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)

    def loss(model, batch):
        return nn.functional.binary_cross_entropy_with_logits(model(batch["embedding"]), batch["labels"])

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(train, batch_size=32, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(val, batch_size=80),
    }
