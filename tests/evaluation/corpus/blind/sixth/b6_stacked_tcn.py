"""Temporal convolution stack that predicts a long-range statistic of a series."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_stacked_tcn",
    "source": "loop over a ModuleList that feeds the stem output to every layer (`h = layer(x)`; student and repository code)",
    "roots": ["unused-parameters"],
    "checks": [],
    "description": "Each layer is applied to the same input and overwrites the previous result, so all layers but the last are unused.",
    "location": "TCN.forward: h = layer(x)",
}


class DilatedBlock(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.conv = nn.Conv1d(c, c, 3, padding=dilation, dilation=dilation)
        self.norm = nn.GroupNorm(2, c)

    def forward(self, x):
        return x + F.gelu(self.norm(self.conv(x)))


class TCN(nn.Module):
    def __init__(self, c=16, chain=False):
        super().__init__()
        self.stem = nn.Conv1d(1, c, 1)
        self.layers = nn.ModuleList(DilatedBlock(c, d) for d in (1, 2, 4, 8))
        self.head = nn.Linear(c, 1)
        self.chain = chain

    def forward(self, series):
        x = h = self.stem(series)
        for layer in self.layers:
            h = layer(h if self.chain else x)
        return self.head(h.mean(-1)).squeeze(-1)


def windows(n, gen):
    x = torch.randn(n, 24, generator=gen)
    kernel = torch.tensor([0.25, 0.5, 0.25]).view(1, 1, 3)
    smooth = F.conv1d(x.unsqueeze(1), kernel, padding=1).squeeze(1)
    y = 2 * F.relu(smooth[:, 2:] - smooth[:, :-2]).mean(1) + x.mean(1)
    return x.unsqueeze(1), 2 * (y - 0.4)


def train_step(model, optimizer, batch):
    x, y = batch
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 12)
    data = [windows(32, gen) for _ in range(8)]
    model = TCN(chain=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "step": lambda batch: train_step(model, optimizer, batch)}
