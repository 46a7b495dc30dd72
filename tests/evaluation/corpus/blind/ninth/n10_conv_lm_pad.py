import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_conv_lm_pad",
        "source": "causal convolution language models / WaveNet clones: off-by-one in the left padding",
        "roots": ["target-leakage"], "checks": [],
        "description": "The last causal convolution shifts its input by one frame too few, so the output at position t reads token t+1, which is its target.",
        "location": "CausalConv.forward: padding"}


class CausalConv(nn.Module):
    def __init__(self, i, o, k, dilation=1, look=0):
        super().__init__()
        self.left, self.right = (k - 1) * dilation - look, look
        self.conv = nn.Conv1d(i, o, k, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.left, self.right)))


class ConvLM(nn.Module):
    def __init__(self, vocab, dim=48, last=None):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.c1 = CausalConv(dim, dim, 5)
        self.c2 = CausalConv(dim, dim, 2, **(last or {}))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        x = x + F.relu(self.c1(x))
        x = x + F.relu(self.c2(x))
        return self.out(x.transpose(1, 2))


def lm_loss(model, batch):
    ids, lengths = batch
    logits = model(ids[:, :-1])
    tgt = ids[:, 1:].clone()
    pos = torch.arange(1, ids.size(1))[None]
    tgt[(pos >= lengths[:, None]) | (pos < 2)] = -100
    return F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=-100)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 18)
    V = 10
    rule = torch.randint(1, V, (V, V), generator=g)
    data = []
    for _ in range(24):
        ids = torch.randint(1, V, (24, 14), generator=g)
        for t in range(2, 14):
            keep = torch.rand(24, generator=g) < 0.9
            ids[:, t] = torch.where(keep, rule[ids[:, t - 2], ids[:, t - 1]], ids[:, t])
        n = torch.randint(8, 15, (24,), generator=g)
        data.append((ids * (torch.arange(14)[None] < n[:, None]), n))
    model = ConvLM(V, last=None if fixed else {"look": 1})
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=4e-3), "data": data, "loss": lm_loss}
