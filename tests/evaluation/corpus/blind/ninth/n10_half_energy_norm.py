import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_half_energy_norm",
        "source": "global layer norm / RMS norm written for half precision training (speech separation, LLM repos)",
        "roots": ["low-precision-overflow"], "checks": [],
        "description": "The norm sums the squares of frames x channels in float16; the sum goes beyond 65504, becomes inf, and the normalised features become zero.",
        "location": "GlobalRMSNorm.forward: energy"}


class GlobalRMSNorm(nn.Module):
    def __init__(self, dim, stat_dtype):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.stat_dtype = stat_dtype

    def forward(self, x):
        energy = x.to(self.stat_dtype).pow(2).sum(dim=(1, 2), keepdim=True).float() / x[0].numel()
        return x * torch.rsqrt(energy + 1e-6) * self.gain + self.bias


class EventTagger(nn.Module):
    def __init__(self, vocab=64, dim=64, events=4, stat_dtype=torch.float32):
        super().__init__()
        self.codes = nn.Embedding(vocab, dim)
        self.scale = math.sqrt(dim)
        self.norm = GlobalRMSNorm(dim, stat_dtype)
        self.conv = nn.Conv1d(dim, 32, 3, padding=1)
        self.out = nn.Linear(32, events)

    def forward(self, codes):
        x = self.norm(self.codes(codes) * self.scale)
        return self.out(F.gelu(self.conv(x.transpose(1, 2))).mean(-1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 28)
    emit = torch.randn(4, 64, generator=g).softmax(-1)
    data = []
    for _ in range(16):
        y = torch.randint(0, 4, (16,), generator=g)
        data.append((torch.multinomial(emit[y], 40, replacement=True, generator=g), y))
    model = EventTagger(stat_dtype=torch.float32 if fixed else torch.float16)

    def loss(model, batch):
        codes, y = batch
        return F.cross_entropy(model(codes), y)

    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3), "data": data, "loss": loss}
