import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
from torch.utils.data import Dataset, DataLoader

META = {"id": "h9_ctc_utterances", "source": "speech tutorial", "roots": [], "checks": [],
        "description": "healthy CTC acoustic model on ragged utterances", "location": ""}

N_SYM = 6  # 0 is the blank


class Utterances(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        proto = torch.randn(N_SYM + 1, 13, generator=g)
        self.items = []
        for _ in range(n):
            k = int(torch.randint(2, 5, (), generator=g))
            syms = torch.randint(1, N_SYM + 1, (k,), generator=g)
            frames = []
            for s in syms:
                d = int(torch.randint(3, 6, (), generator=g))
                frames.append(proto[s].expand(d, -1))
                frames.append(proto[0].expand(1, -1))
            f = torch.cat(frames)
            self.items.append((f + 0.2 * torch.randn(f.shape, generator=g), syms))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    items = sorted(items, key=lambda t: -len(t[0]))
    return dict(feats=pad_sequence([f for f, _ in items], batch_first=True),
                feat_len=torch.tensor([len(f) for f, _ in items]),
                text=torch.cat([t for _, t in items]),
                text_len=torch.tensor([len(t) for _, t in items]))


class Acoustic(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.inp = nn.Sequential(nn.Linear(13, h), nn.LayerNorm(h), nn.Hardtanh(-4, 4))
        self.rnn = nn.GRU(h, h, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * h, N_SYM + 1)

    def forward(self, x, lens):
        packed = pack_padded_sequence(self.inp(x), lens, batch_first=True)
        y, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(y).log_softmax(-1).transpose(0, 1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    loader = DataLoader(Utterances(256, seed), batch_size=16, shuffle=True, collate_fn=collate,
                        generator=torch.Generator().manual_seed(seed))
    model = Acoustic()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-3, total_steps=2000, pct_start=0.02)
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def step(batch):
        opt.zero_grad()
        logp = model(batch["feats"], batch["feat_len"])
        loss = ctc(logp, batch["text"], batch["feat_len"], batch["text_len"])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if sched.last_epoch < 1990:
            sched.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": loader, "step": step}
