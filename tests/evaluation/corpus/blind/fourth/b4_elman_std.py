"""Hand-written Elman RNN that classifies the frequency of a wave."""
import math
import torch
import torch.nn as nn

META = {
    "id": "b4_elman_std",
    "source": "CASES.md 39817949 / 40147568 (weights drawn far too large saturate the squashing units)",
    "roots": ["saturated-activations", "bad-initialization"],
    "description": "the recurrent and input matrices are drawn with standard deviation 4, so tanh sits at +-1",
    "location": "cell.w_in, cell.w_rec",
    "shows_in": "one-batch",
}


class ElmanCell(nn.Module):
    def __init__(self, n_in, n_hidden, std_in, std_rec):
        super().__init__()
        self.w_in = nn.Parameter(torch.randn(n_in, n_hidden) * std_in)
        self.w_rec = nn.Parameter(torch.randn(n_hidden, n_hidden) * std_rec)
        self.b = nn.Parameter(torch.zeros(n_hidden))

    def forward(self, x, h):
        return torch.tanh(x @ self.w_in + h @ self.w_rec + self.b)


class WaveClassifier(nn.Module):
    def __init__(self, fixed, hidden=48, classes=4):
        super().__init__()
        if fixed:
            self.cell = ElmanCell(1, hidden, 0.5, 1 / math.sqrt(hidden))
        else:
            self.cell = ElmanCell(1, hidden, 4.0, 4.0)
        self.hidden = hidden
        self.readout = nn.Linear(hidden, classes)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.hidden)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        return self.readout(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    label = torch.randint(0, 4, (256,))
    freq = 0.15 + 0.25 * label.float()
    t = torch.arange(16).float()
    phase = torch.rand(256, 1) * 2 * math.pi
    x = torch.sin(freq[:, None] * t + phase) + 0.05 * torch.randn(256, 16)
    data = list(zip(x[..., None].split(32), label.split(32)))
    model = WaveClassifier(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        wave, target = batch
        return criterion(model(wave), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
