"""Review sentiment with a packed LSTM over reviews of very different length."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

META = {
    "id": "b4_packed_last",
    "source": "own experience; forum pattern 'last time step of pad_packed_sequence'; cf. CASES.md 42513613",
    "roots": ["ignores-input"],
    "description": "out[:, -1] of the padded output is zero for all but the longest reviews, so their score is a constant",
    "location": "ReviewNet.forward, out[:, -1]",
    "shows_in": "one-batch",
}


class ReviewNet(nn.Module):
    def __init__(self, fixed, vocab=60, dim=24, hidden=32):
        super().__init__()
        self.fixed = fixed
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True, enforce_sorted=False)
        packed_out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(packed_out, batch_first=True)
        if self.fixed:
            last = out[torch.arange(len(out)), lengths - 1]
        else:
            last = out[:, -1]
        return self.fc(last).squeeze(1)


def collate(reviews):
    ids = pad_sequence([r[0] for r in reviews], batch_first=True)
    return {"ids": ids, "lengths": torch.tensor([len(r[0]) for r in reviews]), "label": torch.stack([r[1] for r in reviews])}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tone = torch.randn(60)
    reviews = []
    for _ in range(256):
        n = int(torch.randint(3, 18, (1,)))
        words = torch.randint(1, 60, (n,))
        reviews.append((words, (tone[words].sum() > 0).float()))
    data = [collate(reviews[i:i + 32]) for i in range(0, 256, 32)]
    model = ReviewNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    bce = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return bce(model(batch["ids"], batch["lengths"]), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
