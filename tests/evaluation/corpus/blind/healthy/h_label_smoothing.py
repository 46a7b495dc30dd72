"""Sentence classification with label smoothing."""
import torch
import torch.nn as nn

META = {
    "id": "h_label_smoothing",
    "description": 'Label smoothing 0.2 keeps the cross entropy above about 0.66 for ever; the classifier itself is right on every sample.',
    "roots": [],
}


class BagClassifier(nn.Module):
    def __init__(self, vocab=201, dim=48, classes=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.fc1 = nn.Linear(dim, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, ids):
        mask = (ids != 0).float().unsqueeze(-1)
        h = (self.emb(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.fc2(torch.relu(self.fc1(h)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        y = torch.randint(0, 5, (32,))
        ids = torch.randint(1, 201, (32, 14))
        topic = 1 + y[:, None] * 40 + torch.randint(0, 40, (32, 14))
        ids = torch.where(torch.rand(32, 14) < 0.5, topic, ids)
        length = torch.randint(6, 15, (32,))
        ids[torch.arange(14)[None] >= length[:, None]] = 0
        data.append((ids, y))
    model = BagClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.2)

    def loss(model, batch):
        ids, y = batch
        return criterion(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
