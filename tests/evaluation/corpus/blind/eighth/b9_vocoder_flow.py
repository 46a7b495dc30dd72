import math
import torch
import torch.nn as nn

META = {"id": "b9_vocoder_flow", "source": "WaveGlow/WaveNet style vocoders: init under weight_norm",
        "roots": ["lost-initialization"], "checks": [],
        "description": "init_weights writes to .weight of weight-normed convolutions; the weight is computed from g and v at every forward, so the small initialisation is gone",
        "location": "init_weights"}

from torch.nn.utils.parametrizations import weight_norm


class WN(nn.Module):
    """Conditioning network of one coupling layer."""

    def __init__(self, half, n_mel, ch=16, layers=2):
        super().__init__()
        self.start = weight_norm(nn.Conv1d(half, ch, 1))
        self.cond = weight_norm(nn.Conv1d(n_mel, ch, 1))
        self.convs = nn.ModuleList([weight_norm(nn.Conv1d(ch, ch, 3, padding=2 ** i, dilation=2 ** i)) for i in range(layers)])
        self.end = weight_norm(nn.Conv1d(ch, 2 * half, 1))

    def forward(self, x, mel):
        h = self.start(x) + self.cond(mel)
        for conv in self.convs:
            h = h + torch.tanh(conv(h))
        return self.end(h).chunk(2, 1)


def init_weights(module, fixed):
    """Coupling layers start close to the identity."""
    for wn in module.flows:
        if fixed:
            with torch.no_grad():
                wn.end.parametrizations.weight.original0.mul_(0.01)
                wn.end.bias.zero_()
        else:
            wn.end.weight.data.mul_(0.01)
            wn.end.bias.data.zero_()


class Flow(nn.Module):
    def __init__(self, channels=8, n_mel=6, n_flows=4):
        super().__init__()
        self.flows = nn.ModuleList([WN(channels // 2, n_mel) for _ in range(n_flows)])

    def forward(self, x, mel):
        logdet = 0.0
        for wn in self.flows:
            a, b = x.chunk(2, 1)
            log_s, shift = wn(a, mel)
            b = b * torch.exp(log_s) + shift
            logdet = logdet + log_s.sum((1, 2))
            x = torch.cat([b, a], 1)
        return x, logdet


def nll(model, batch):
    audio, mel = batch
    z, logdet = model(audio, mel)
    n = z[0].numel()
    return ((0.5 * z.pow(2).sum((1, 2)) - logdet) / n).mean() + 0.5 * math.log(2 * math.pi)


def synth(n, seed, frames=16, channels=8, n_mel=6):
    g = torch.Generator().manual_seed(seed + 8)
    mel = torch.randn(n, n_mel, frames, generator=g).cumsum(-1)
    mel = (mel - mel.mean((1, 2), keepdim=True)) / mel.std((1, 2), keepdim=True)
    proj = torch.randn(channels, n_mel, generator=g) / 2
    audio = torch.einsum("cm,nmt->nct", proj, mel) + 0.15 * torch.randn(n, channels, frames, generator=g)
    return audio, mel


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    audio, mel = synth(256, seed)
    data = [(audio[i:i + 16], mel[i:i + 16]) for i in range(0, 256, 16)]
    model = Flow()
    init_weights(model, fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": nll}
