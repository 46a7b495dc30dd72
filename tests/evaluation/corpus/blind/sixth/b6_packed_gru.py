"""Regression from variable-length series with a packed GRU."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

META = {
    "id": "b6_packed_gru",
    "source": "pre-1.1 style packing: sort by length, forget to unsort the final states (forum, many text classifiers)",
    "roots": ["labels-not-aligned", "batch-mixing"],
    "checks": [],
    "description": "Inputs are sorted by length for packing and the outputs are returned in that order, while the targets keep the original order.",
    "location": "PackedGRU.forward: h[-1] is not indexed with the inverse permutation",
}


class PackedGRU(nn.Module):
    def __init__(self, hidden=32, unsort=False):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))
        self.unsort = unsort

    def forward(self, series, lengths):
        lengths, order = lengths.sort(descending=True, stable=True)
        packed = pack_padded_sequence(series[order], lengths.cpu(), batch_first=True)
        _, h = self.gru(packed)
        h = h[-1]
        if self.unsort:
            h = h[order.argsort()]
        return self.head(h).squeeze(-1)


def collate(gen, n=32, tmax=12):
    lengths = torch.randint(4, tmax + 1, (n,), generator=gen)
    mask = (torch.arange(tmax)[None] < lengths[:, None]).float()
    price = torch.randn(n, tmax, generator=gen) * mask
    volume = torch.rand(n, tmax, generator=gen) * mask
    y = (price * volume).sum(1) / lengths.sqrt() + 0.1 * lengths
    return torch.stack([price, volume], dim=-1), lengths, y


class Fit:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def __call__(self, batch):
        series, lengths, y = batch
        self.optimizer.zero_grad()
        loss = F.smooth_l1_loss(self.model(series, lengths), y)
        loss.backward()
        self.optimizer.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [collate(gen) for _ in range(8)]
    fit = Fit(PackedGRU(unsort=fixed), lr=6e-3)
    return {"model": fit.model, "optimizer": fit.optimizer, "data": data, "step": fit}
