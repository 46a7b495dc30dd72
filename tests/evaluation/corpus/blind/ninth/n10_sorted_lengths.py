import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence

META = {"id": "n10_sorted_lengths",
        "source": "RNN classifiers from the days before enforce_sorted=False: sequences sorted by length, results not put back",
        "roots": ["labels-not-aligned"], "checks": [],
        "description": "The encoder sorts the sequences by length for packing and returns its results in that order, so they are compared with the labels of other samples.",
        "location": "GestureRNN.forward: return without inverse permutation"}


class GestureRNN(nn.Module):
    def __init__(self, feats=6, hid=32, classes=4, unsort=False):
        super().__init__()
        self.rnn = nn.GRU(feats, hid, batch_first=True)
        self.fc = nn.Linear(hid, classes)
        self.unsort = unsort

    def forward(self, x, lengths):
        lengths, order = torch.sort(lengths, descending=True, stable=True)
        _, h = self.rnn(pack_padded_sequence(x[order], lengths, batch_first=True))
        out = self.fc(h[-1])
        if self.unsort:
            out = out[torch.argsort(order)]
        return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 17)
    drift = torch.randn(4, 6, generator=g)
    batches = []
    for _ in range(20):
        y = torch.randint(0, 4, (24,), generator=g)
        n = torch.randint(6, 15, (24,), generator=g)
        real = (torch.arange(14)[None] < n[:, None]).float().unsqueeze(-1)
        x = (0.6 * drift[y][:, None] + torch.randn(24, 14, 6, generator=g)) * real
        batches.append({"x": x, "lengths": n, "y": y})
    model = GestureRNN(unsort=fixed)

    def loss(m, b):
        return F.cross_entropy(m(b["x"], b["lengths"]), b["y"])

    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=4e-3), "data": batches, "loss": loss}
