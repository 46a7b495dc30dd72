import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_length_curriculum", "source": "healthy; length-sorted curriculum",
        "roots": [], "checks": [], "description": "batches grow from 6 to 12 symbols, GRU predicts a clamped counter with resets at every position", "location": ""}


class Tagger(nn.Module):
    def __init__(self, v=5, d=32, k=3):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(v, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, k)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def state_after(x):
    s, out = torch.zeros(len(x), dtype=torch.long), []
    for t in range(x.shape[1]):
        c = x[:, t]
        s = torch.where(c == 0, torch.zeros_like(s), torch.where(c == 1, (s + 1).clamp(max=2), torch.where(c == 2, (s - 1).clamp(min=0), s)))
        out.append(s)
    return torch.stack(out, 1)


class Curriculum:
    def __init__(self, lo, hi, per, bs, gen):
        self.items = []
        for L in range(lo, hi + 1):
            for _ in range(per):
                x = torch.randint(0, 5, (bs, L), generator=gen)
                self.items.append((x, state_after(x)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __iter__(self):
        return iter(self.items)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 38)
    m = Tagger()
    return {"model": m, "optimizer": torch.optim.RMSprop(m.parameters(), lr=3e-3), "data": list(Curriculum(6, 12, 4, 32, g)),
            "loss": lambda m, b: F.cross_entropy(m(b[0]).transpose(1, 2), b[1])}
