"""Parity-of-signs (XOR style) classifier on two sensors."""
import torch
import torch.nn as nn

META = {
    "id": "b5_xor_linear",
    "source": "CASES.md: TheDeepChecker 46181692 (no activation), DeepCrime remove_activation_function",
    "roots": ["insufficient-capacity"],
    "description": "three Linear layers without any non-linearity in between can't represent XOR",
    "location": "XorNet.forward",
    "shows_in": "one-batch",
}


class XorNet(nn.Module):
    def __init__(self, hidden=64, nonlin=False):
        super().__init__()
        self.lin1 = nn.Linear(4, hidden)
        self.lin2 = nn.Linear(hidden, hidden)
        self.lin3 = nn.Linear(hidden, 1)
        self.nonlin = nonlin

    def forward(self, x):
        if self.nonlin:
            x = torch.relu(self.lin1(x))
            x = torch.relu(self.lin2(x))
        else:
            x = self.lin1(x)
            x = self.lin2(x)
        return self.lin3(x)


def readings(n, g):
    side = torch.randint(0, 2, (n, 2), generator=g).float() * 2 - 1
    signal = side + 0.2 * torch.randn(n, 2, generator=g)
    ambient = 0.3 * torch.randn(n, 2, generator=g)
    alarm = (side[:, 0] * side[:, 1] < 0).float().unsqueeze(1)
    return torch.cat([signal, ambient], 1), alarm


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = readings(8 * 64, g)
    data = [(x[i:i + 64], y[i:i + 64]) for i in range(0, len(x), 64)]

    model = XorNet(nonlin=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        inputs, alarm = batch
        return criterion(model(inputs), alarm)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
