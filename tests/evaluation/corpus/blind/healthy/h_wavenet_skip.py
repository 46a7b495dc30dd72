"""WaveNet-style dilated stack with skip outputs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_wavenet_skip",
    "description": "The last layer's residual convolution feeds nothing (only the skip path is read), as in the published code; gated activations, weight normalisation.",
    "roots": [],
}


def wn(conv):
    return nn.utils.parametrizations.weight_norm(conv)


class Layer(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.pad = dilation
        self.gate = wn(nn.Conv1d(c, 2 * c, 2, dilation=dilation))
        self.res, self.skip = wn(nn.Conv1d(c, c, 1)), wn(nn.Conv1d(c, c, 1))

    def forward(self, x):
        a, b = self.gate(F.pad(x, (self.pad, 0))).chunk(2, 1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.res(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, levels=16, c=24):
        super().__init__()
        self.inp = nn.Embedding(levels, c)
        self.layers = nn.ModuleList(Layer(c, 2 ** i) for i in range(4))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, levels, 1))

    def forward(self, q):
        x, total = self.inp(q).transpose(1, 2), 0.0
        for layer in self.layers:
            x, s = layer(x)
            total = total + s
        return self.out(total)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.arange(33)
    data = []
    for _ in range(6):
        f, ph = 0.2 + 0.3 * torch.rand(8, 1), 6.28 * torch.rand(8, 1)
        data.append(((torch.sin(f * t + ph) * 0.5 + 0.5) * 15).round().long())
    model = WaveNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, q):
        return F.cross_entropy(model(q[:, :-1]), q[:, 1:])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
