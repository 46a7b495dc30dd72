"""Pointer network that sorts numbers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_pointer_argmax",
    "description": 'The output vocabulary is the input itself (attention scores as logits); chosen places are masked with -inf; teacher forcing.',
    "roots": [],
}


class PointerNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.enc = nn.LSTM(1, hidden, batch_first=True)
        self.dec = nn.LSTMCell(1, hidden)
        self.go = nn.Parameter(torch.zeros(1))
        self.wq, self.wk = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, x, order):
        keys, (h, c) = self.enc(x[..., None])
        keys = self.wk(keys)
        h, c = h[0], c[0]
        inp = self.go.expand(len(x), 1)
        used = torch.zeros_like(x, dtype=torch.bool)
        loss = 0.0
        for t in range(x.shape[1]):
            h, c = self.dec(inp, (h, c))
            logits = self.v(torch.tanh(keys + self.wq(h)[:, None])).squeeze(-1).masked_fill(used, float("-inf"))
            loss = loss + F.cross_entropy(logits, order[:, t])
            used = used.scatter(1, order[:, t:t + 1], True)
            inp = x.gather(1, order[:, t:t + 1])
        return loss / x.shape[1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.rand(24, 5)
        data.append((x, x.argsort(1)))
    model = PointerNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        return model(*batch)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
