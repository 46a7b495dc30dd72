import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

META = {"id": "h3_qat_straight_through", "source": "healthy; quantisation-aware training with straight-through estimator",
        "roots": [], "checks": [], "description": "4-bit weights and 6-bit activations are fake-quantised, latent weights in float", "location": ""}


def ste_round(x):
    return x + (x.round() - x).detach()


class QLinear(nn.Linear):
    bits = 4

    def forward(self, x):
        q = 2 ** (self.bits - 1) - 1
        s = self.weight.detach().abs().amax(1, keepdim=True) / q + 1e-8
        return F.linear(x, (ste_round(self.weight / s)).clamp(-q, q) * s, self.bias)


class QReLU(nn.Module):
    def __init__(self, levels=63):
        super().__init__()
        self.levels = levels
        self.clip = nn.Parameter(torch.tensor(4.0))

    def forward(self, x):
        c = self.clip.clamp(min=0.1)
        y = torch.minimum(F.relu(x), c)
        return ste_round(y / c * self.levels) * c / self.levels


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 25)
    x = torch.randn(32 * 30, 8, generator=g)
    y = (x[:, :4].pow(2).sum(1) > x[:, 4:].pow(2).sum(1)).long()
    net = nn.Sequential(QLinear(8, 64), QReLU(), QLinear(64, 64), QReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam([{"params": [p for n, p in net.named_parameters() if "clip" not in n]},
                            {"params": [p for n, p in net.named_parameters() if "clip" in n], "weight_decay": 1e-3, "lr": 1e-2}], lr=5e-3)
    return {"model": net, "optimizer": opt, "data": DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(seed)),
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
