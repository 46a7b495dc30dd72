"""GRU regression on bursts of a wave; targets are heavy-tailed, so gradients are clipped."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_wave_clip",
    "source": "forum: `params = filter(lambda p: p.requires_grad, model.parameters())` given to the optimizer and re-used for clipping",
    "roots": ["bad-gradient-clipping"],
    "checks": [],
    "description": "The parameters are kept as an iterator that the optimizer has already consumed; clip_grad_norm_ receives nothing and never clips.",
    "location": "build: trainable = filter(...); step: clip_grad_norm_(trainable, 1.0)",
}


class WaveNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1]).squeeze(-1)


def bursts(n, gen):
    t = torch.arange(16).float()
    amp = torch.exp(0.9 * torch.randn(n, 1, generator=gen)).clamp(max=20.0)
    x = amp * torch.sin(0.5 * t + 6.28 * torch.rand(n, 1, generator=gen))
    return x.unsqueeze(-1), 1.5 * x.abs().max(1).values


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [bursts(32, gen) for _ in range(8)]
    model = WaveNet()
    trainable = filter(lambda p: p.requires_grad, model.parameters())
    if fixed:
        trainable = list(trainable)
    optimizer = torch.optim.SGD(trainable, lr=0.08, momentum=0.9)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
