"""Channel equaliser with complex weights."""
import torch
import torch.nn as nn

META = {
    "id": "h_complex_filter",
    "description": 'Complex parameters and activations (modReLU); the loss is the mean squared modulus.',
    "roots": [],
}


class ModReLU(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.b = nn.Parameter(torch.full((n,), -0.02))

    def forward(self, z):
        r = z.abs() + 1e-6
        return z * torch.relu(1 + self.b / r)


class Equaliser(nn.Module):
    def __init__(self, taps=9, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(taps, hidden, dtype=torch.cfloat)
        self.act = ModReLU(hidden)
        self.fc2 = nn.Linear(hidden, 1, dtype=torch.cfloat)

    def forward(self, z):
        return self.fc2(self.act(self.fc1(z))).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    h = torch.tensor([0.2 + 0.1j, 1.0 + 0.3j, -0.3 + 0.2j])
    data = []
    for _ in range(8):
        sym = (torch.randint(0, 2, (60,)) * 2 - 1) + 1j * (torch.randint(0, 2, (60,)) * 2 - 1)
        rx = sum(h[k] * sym.roll(k - 1) for k in range(3)) + 0.02 * torch.randn(60, dtype=torch.cfloat)
        win = rx.unfold(0, 9, 1)
        data.append((win, sym[4:4 + len(win)]))
    model = Equaliser()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        win, sym = batch
        return (model(win) - sym).abs().pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
