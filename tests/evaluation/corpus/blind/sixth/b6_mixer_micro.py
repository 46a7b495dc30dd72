"""MLP-mixer regression; every batch goes through the net in four micro-batches to save memory."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_mixer_micro",
    "source": "CASES.md I: deepinsight/insightface #2258 (gradient accumulation without division)",
    "roots": ["accumulation-not-scaled"],
    "checks": ["accumulates_exactly"],
    "description": "The mean loss of each micro-batch is back-propagated undivided, so the accumulated gradient is four times that of the batch.",
    "location": "step: mb_loss.backward()",
}

MICRO = 4


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(tokens, 16), nn.GELU(), nn.Linear(16, tokens))
        self.ch = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.ch(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, tokens=6, dim_in=4, dim=16):
        super().__init__()
        self.stem = nn.Linear(dim_in, dim)
        self.blocks = nn.Sequential(MixerBlock(tokens, dim), MixerBlock(tokens, dim))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(1)).squeeze(-1)


def loss_fn(model, batch):
    x, y = batch
    return F.mse_loss(model(x), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(6, 4) * 0.4
    data = []
    for _ in range(8):
        x = torch.randn(32, 6, 4)
        y = (x * w).sum((1, 2)) + 0.5 * x[:, 0, 0] * x[:, 3, 1]
        data.append((x, y))
    model = Mixer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.012, momentum=0.8)

    def step(batch):
        optimizer.zero_grad()
        total = 0.0
        for mb in zip(*(t.chunk(MICRO) for t in batch)):
            mb_loss = loss_fn(model, mb)
            if fixed:
                mb_loss = mb_loss / MICRO
                total = total + mb_loss.detach()
            else:
                total = total + mb_loss.detach() / MICRO
            mb_loss.backward()
        optimizer.step()
        return total

    return {"model": model, "optimizer": optimizer, "data": data, "step": step, "loss": loss_fn}
