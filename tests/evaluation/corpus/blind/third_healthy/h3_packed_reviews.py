from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

META = {"id": "h3_packed_reviews", "source": "healthy; LSTM classifier on packed variable-length sequences",
        "roots": [], "checks": [], "description": "ragged reviews as PackedSequence in a dataclass batch; last hidden states of both directions from h_n", "location": ""}


@dataclass
class Reviews:
    tokens: PackedSequence
    stars: torch.Tensor

    def __len__(self):
        return len(self.stars)


class BiLSTM(nn.Module):
    def __init__(self, v=30, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.lstm = nn.LSTM(d, d, bidirectional=True)
        self.fc = nn.Linear(2 * d, 1)

    def forward(self, p):
        e = PackedSequence(self.emb(p.data), p.batch_sizes, p.sorted_indices, p.unsorted_indices)
        _, (h, _) = self.lstm(e)
        return self.fc(torch.cat([h[0], h[1]], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 53)
    polarity = torch.randn(30, generator=g)

    def batch(n=24):
        seqs = [torch.randint(0, 30, (int(torch.randint(4, 14, (1,), generator=g)),), generator=g) for _ in range(n)]
        y = torch.stack([torch.tanh(polarity[s].sum() / len(s) ** 0.5) for s in seqs])
        return Reviews(pack_sequence(seqs, enforce_sorted=False), y)

    m = BiLSTM()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=8e-3), "data": [batch() for _ in range(30)],
            "loss": lambda m, b: F.mse_loss(m(b.tokens), b.stars)}
