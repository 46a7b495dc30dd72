import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_qat_ste", "source": "embedded ML company code", "roots": [], "checks": [],
        "description": "healthy quantisation-aware training: 4-bit weights by straight-through, learned activation clip (PACT)",
        "location": ""}


class Quant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, bits):
        s = w.abs().amax() / (2 ** (bits - 1) - 1)
        return torch.round(w / s) * s

    @staticmethod
    def backward(ctx, g):
        return g, None


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, Quant.apply(self.weight, 4), self.bias)


class PACT(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(4.0))

    def forward(self, x):
        y = 0.5 * (x.abs() - (x - self.alpha).abs() + self.alpha)
        q = torch.round(y * 15 / self.alpha) * self.alpha / 15
        return y + (q - y).detach()


class KeywordSpotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(40)
        self.l1, self.a1 = QLinear(40, 64), PACT()
        self.l2, self.a2 = QLinear(64, 64), PACT()
        self.out = nn.Linear(64, 6)

    def forward(self, x):
        return self.out(self.a2(self.l2(self.a1(self.l1(self.norm(x))))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    centre = torch.randn(6, 40, generator=g) * 20 - 60          # log-mel energies in dB, normalised by the model
    y = torch.randint(0, 6, (512,), generator=g)
    x = centre[y] + 25 * torch.randn(512, 40, generator=g)
    net = KeywordSpotter()
    clips = [p for n, p in net.named_parameters() if "alpha" in n]
    other = [p for n, p in net.named_parameters() if "alpha" not in n]
    opt = torch.optim.Adam([{"params": other}, {"params": clips, "weight_decay": 1e-3}], lr=2e-3)

    def step(item):
        feats, word = item
        net.train()
        loss = F.cross_entropy(net(feats), word)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return float(loss)

    return {"model": net, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))), "step": step}
