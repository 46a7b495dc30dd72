"""Which event came first? Transformer classifier on event logs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_encoder_no_positions",
    "source": "own experience; transformer ports in which the positional embedding is created and never added",
    "roots": ["unused-parameters"],
    "description": "the positional embedding is built but never used in forward, so the order of events is invisible",
    "location": "EventEncoder.pos_emb",
    "shows_in": "one-batch",
}

N_EVENTS, LEN = 12, 10


class EventEncoder(nn.Module):
    def __init__(self, d=32, n_layers=2, n_classes=2, add_positions=False):
        super().__init__()
        self.add_positions = add_positions
        self.event_emb = nn.Embedding(N_EVENTS, d)
        self.pos_emb = nn.Embedding(LEN, d)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.cls = nn.Linear(d, n_classes)

    def forward(self, events):
        x = self.event_emb(events)
        if self.add_positions:
            x = x + self.pos_emb(torch.arange(events.size(1)))
        x = self.layers(x)
        return self.cls(x.mean(dim=1))


def logs(n, g):
    """Each log holds login (0) and error (1) once and the same background events; label: was the error first?"""
    background = torch.arange(2, LEN).repeat(n, 1)
    base = torch.cat([torch.zeros(n, 1).long(), torch.ones(n, 1).long(), background], 1)
    order = torch.rand(n, LEN, generator=g).argsort(1)
    events = base.gather(1, order)
    first_error = (events == 1).float().argmax(1) < (events == 0).float().argmax(1)
    return events, first_error.long()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    events, label = logs(8 * 32, g)
    data = list(zip(events.split(32), label.split(32)))
    model = EventEncoder(add_positions=fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
