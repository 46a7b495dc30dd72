"""Quantisation-aware training with 4-bit weights."""
import torch
import torch.nn as nn

META = {
    "id": "h_qat_fake_quant",
    "description": 'Weights and activations are rounded with a straight-through estimator; the loss jitters a little at the end since it moves on a grid.',
    "roots": [],
}


def ste_round(x):
    return x + (x.round() - x).detach()


class QLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().amax() / 7
        w = ste_round(self.weight / scale).clamp(-8, 7) * scale
        return nn.functional.linear(x, w, self.bias)


class QAct(nn.Module):
    def __init__(self, bits=6):
        super().__init__()
        self.levels = 2 ** bits - 1
        self.alpha = nn.Parameter(torch.tensor(4.0))

    def forward(self, x):
        x = torch.minimum(torch.relu(x), self.alpha)
        return ste_round(x / self.alpha * self.levels) * self.alpha / self.levels


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(QLinear(16, 96), QAct(), QLinear(96, 96), QAct(), nn.Linear(96, 5))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(16, 5)
    data = []
    for _ in range(8):
        x = torch.randn(32, 16)
        data.append((x, (x @ w + 0.5 * (x ** 2) @ w.flip(0)).argmax(1)))
    model = QNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
