import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_hawkes_neural", "source": "temporal point process library", "roots": [], "checks": [],
        "description": "healthy neural point process: log-normal mixture of gaps plus mark loss on padded event sequences with masks, raw seconds",
        "location": ""}


class RMTPP(nn.Module):
    def __init__(self, marks, mean, std, d=32, k=3):
        super().__init__()
        self.emb = nn.Embedding(marks + 1, 12, padding_idx=marks)
        self.rnn = nn.GRU(13, d, batch_first=True)
        self.gap, self.mark = nn.Linear(d, 3 * k), nn.Linear(d, marks)
        self.register_buffer("mean", mean), self.register_buffer("std", std)

    def forward(self, dt, m, mask):
        z = torch.where(mask, (dt.clamp_min(1e-3).log() - self.mean) / self.std, 0.0)
        h, _ = self.rnn(torch.cat([self.emb(m), z[..., None]], 2))
        h = h[:, :-1]
        w, mu, ls = self.gap(h).chunk(3, -1)
        ls = ls.clamp(-3, 2)
        lp = torch.logsumexp(w.log_softmax(-1) - 0.5 * ((z[:, 1:, None] - mu) / ls.exp()) ** 2 - ls - 0.919, -1)
        ce = F.cross_entropy(self.mark(h).transpose(1, 2), m[:, 1:].clamp_max(self.mark.out_features - 1), reduction="none")
        keep = mask[:, 1:].float()
        return ((ce - lp) * keep).sum() / keep.sum()


def sessions(n, g, marks=4):
    out = []
    for _ in range(n):
        L = int(torch.randint(6, 16, (), generator=g))
        m = [int(torch.randint(0, marks, (), generator=g))]
        for _ in range(L - 1):
            m.append((m[-1] + 1) % marks if torch.rand((), generator=g) < 0.85 else int(torch.randint(0, marks, (), generator=g)))
        m = torch.tensor(m)
        dt = torch.exp(torch.tensor([1.0, 6.0, 3.0, 8.0])[m.roll(1)] + 0.4 * torch.randn(L, generator=g))
        out.append((dt, m))
    return out


def pad(batch, marks=4):
    L = max(len(m) for _, m in batch)
    dt, mk = torch.zeros(len(batch), L), torch.full((len(batch), L), marks)
    for i, (d, m) in enumerate(batch):
        dt[i, :len(m)], mk[i, :len(m)] = d, m
    return dt, mk, mk < marks


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    seqs = sessions(320, g)
    logs = torch.cat([d for d, _ in seqs]).log()
    data = torch.utils.data.DataLoader(seqs, 32, shuffle=True, collate_fn=pad, generator=torch.Generator().manual_seed(seed))
    model = RMTPP(4, logs.mean(), logs.std())
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(batch):
        loss = model(*batch)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
