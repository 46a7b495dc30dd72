import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_ctc_strokes", "source": "healthy; small CTC acoustic model",
        "roots": [], "checks": [], "description": "CTC with blank 0, true input and target lengths, conv front-end that keeps the frame rate", "location": ""}


class Acoustic(nn.Module):
    def __init__(self, mel=8, vocab=6):
        super().__init__()
        self.conv = nn.Conv1d(mel, 48, 5, padding=2)
        self.norm = nn.LayerNorm(48)
        self.rnn = nn.GRU(48, 32, batch_first=True)
        self.fc = nn.Linear(32, vocab)

    def forward(self, x):
        h = F.relu(self.norm(self.conv(x.transpose(1, 2)).transpose(1, 2)))
        return self.fc(self.rnn(h)[0]).log_softmax(-1)


def utterance(g, proto):
    n = int(torch.randint(2, 5, (1,), generator=g))
    lab = torch.randint(1, 6, (n,), generator=g)
    dur = torch.randint(3, 6, (n,), generator=g)
    frames = []
    for s, d in zip(lab.tolist(), dur.tolist()):
        frames += [proto[s]] * d + [proto[0]]
    x = torch.stack(frames)
    return x + 0.25 * torch.randn(x.shape, generator=g), lab


def collate(items):
    il = torch.tensor([len(x) for x, _ in items])
    tl = torch.tensor([len(y) for _, y in items])
    return {"feats": nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True), "in_len": il,
            "labels": torch.cat([y for _, y in items]), "lab_len": tl}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 50)
    proto = torch.randn(6, 8, generator=g)
    proto[0] = 0
    data = [collate([utterance(g, proto) for _ in range(16)]) for _ in range(30)]
    m = Acoustic()

    def loss(m, b):
        lp = m(b["feats"]).transpose(0, 1)
        return F.ctc_loss(lp, b["labels"], b["in_len"], b["lab_len"], blank=0, zero_infinity=True)

    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=5e-3), "data": data, "loss": loss}
