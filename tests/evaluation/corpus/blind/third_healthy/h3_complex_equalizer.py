import torch
from torch import nn

META = {"id": "h3_complex_equalizer", "source": "healthy; complex-valued network for channel equalisation",
        "roots": [], "checks": [], "description": "complex64 parameters and inputs (QPSK through a channel), modReLU, real loss", "location": ""}


class ModReLU(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.b = nn.Parameter(torch.full((n,), -0.05))

    def forward(self, z):
        r = z.abs() + 1e-6
        return z * torch.relu(r + self.b) / r


class Equalizer(nn.Module):
    def __init__(self, taps=7, hid=24):
        super().__init__()
        self.l1 = nn.Linear(taps, hid, dtype=torch.cfloat)
        self.act = ModReLU(hid)
        self.l2 = nn.Linear(hid, 1, dtype=torch.cfloat)

    def forward(self, z):
        return self.l2(self.act(self.l1(z))).squeeze(-1)


def channel(n, g, taps=7):
    bits = torch.randint(0, 2, (n, taps + 2, 2), generator=g) * 2.0 - 1
    s = torch.complex(bits[..., 0], bits[..., 1]) / 2 ** 0.5
    h = torch.tensor([0.25 + 0.1j, 0.9 - 0.2j, 0.3j])
    r = s[:, :-2] * h[0] + s[:, 1:-1] * h[1] + s[:, 2:] * h[2]
    r = r * (1 + 0.05 * r.abs() ** 2)
    noise = torch.randn(n, taps, 2, generator=g) * 0.05
    return r + torch.view_as_complex(noise), s[:, taps // 2 + 1]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    z, s = channel(48 * 24, torch.Generator().manual_seed(seed + 43))
    m = Equalizer()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=5e-3),
            "data": list(zip(z.split(48), s.split(48))), "loss": lambda m, b: (m(b[0]) - b[1]).abs().square().mean()}
