"""Transformer encoder that sorts short reviews into twelve topics."""
import torch
from torch import nn

META = {
    "id": "b2_enc_softmax",
    "source": "NervanaSystems/distiller 0a8a3b3 (redundant softmax layer)",
    "roots": ["double-softmax"],
    "description": "the head ends with nn.Softmax and the loss is CrossEntropyLoss, which applies softmax again",
    "location": "TopicNet.head (nn.Softmax)",
    "shows_in": "one-batch",
}
VOCAB, LENGTH, TOPICS = 80, 14, 12


class TopicNet(nn.Module):
    def __init__(self, dim=48, fixed=False):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, LENGTH, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        head = [nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, TOPICS)]
        if not fixed:
            head.append(nn.Softmax(dim=-1))
        self.head = nn.Sequential(*head)

    def forward(self, ids):
        return self.head(self.encoder(self.emb(ids) + self.pos).mean(1))


def make_data(n_batches=6, batch_size=32):
    words = torch.randint(0, VOCAB, (TOPICS, 6))
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, TOPICS, (batch_size,))
        topical = words[y].gather(1, torch.randint(0, 6, (batch_size, LENGTH)))
        general = torch.randint(0, VOCAB, (batch_size, LENGTH))
        ids = torch.where(torch.rand(batch_size, LENGTH) < 0.6, topical, general)
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TopicNet(fixed=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        ids, y = batch
        return criterion(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
