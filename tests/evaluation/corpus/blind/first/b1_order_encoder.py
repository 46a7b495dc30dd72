"""Transformer encoder that classifies short event sequences by the order of two events."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_order_encoder",
    "source": "PyTorch forum: transformer does not learn order, positional embedding defined but never added",
    "roots": ["unused-parameters"],
    "description": "the learned positional embedding exists but forward never adds it",
    "location": "EventEncoder.pos_embedding",
    "shows_in": "full-data",
}


class EventEncoder(nn.Module):
    def __init__(self, n_events, length, use_pos, dim=32, heads=4, depth=2, n_classes=2):
        super().__init__()
        self.use_pos = use_pos
        self.embedding = nn.Embedding(n_events, dim)
        self.pos_embedding = nn.Parameter(torch.randn(1, length, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=64, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, n_classes)

    def forward(self, events):
        x = self.embedding(events)
        if self.use_pos:
            x = x + self.pos_embedding
        x = self.encoder(x)
        return self.fc(self.norm(x).mean(dim=1))


def make_sequences(n, n_events=12, length=8):
    events = torch.randint(2, n_events, (n, length))
    label = torch.randint(0, 2, (n,))
    for i in range(n):
        a, b = sorted(torch.randperm(length)[:2].tolist())
        first, second = (0, 1) if label[i] == 0 else (1, 0)
        events[i, a], events[i, b] = first, second
    return events, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    events, label = make_sequences(12 * bs)
    data = [(events[i:i + bs], label[i:i + bs]) for i in range(0, len(events), bs)]
    model = EventEncoder(12, 8, use_pos=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)

    def loss(model, batch):
        events, label = batch
        return F.cross_entropy(model(events), label)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
