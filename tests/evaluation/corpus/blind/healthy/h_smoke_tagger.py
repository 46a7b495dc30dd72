"""Smoke test of a token tagger."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_tagger",
    "description": 'Uniformly random tokens with a random tag each, one -100 column ignored; a batch can be memorised through context.',
    "roots": [],
}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 48)
        self.gru = nn.GRU(48, 64, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(128, 5)

    def forward(self, ids):
        return self.fc(self.gru(self.emb(ids))[0])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(4):
        tags = torch.randint(0, 5, (8, 12))
        tags[:, -1] = -100
        data.append({"input_ids": torch.randint(0, 100, (8, 12)), "labels": tags})
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        logits = model(batch["input_ids"])
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
