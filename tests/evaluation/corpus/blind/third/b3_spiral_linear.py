"""Three-arm spiral classification with a stack of fully connected layers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_spiral_linear",
    "source": "CASES.md C 46181692, F remove_activation_function",
    "roots": ["insufficient-capacity"],
    "description": "no non-linearity between the layers: the four-layer stack is one linear map",
    "location": "SpiralNet.forward: activations missing",
    "shows_in": "one-batch",
}


class SpiralNet(nn.Module):
    def __init__(self, fixed, width=96):
        super().__init__()
        self.fixed = fixed
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, width)])
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.fixed:
                x = F.silu(x)
        return self.out(x)


def spiral(g, n):
    y = torch.randint(0, 3, (n,), generator=g)
    r = 0.1 + 0.9 * torch.rand(n, generator=g)
    angle = 5.0 * r + y.float() * 2 * torch.pi / 3 + 0.05 * torch.randn(n, generator=g)
    x = torch.stack([r * torch.cos(angle), r * torch.sin(angle)], dim=1)
    return 2.0 * x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 55)
    x, y = spiral(g, 8 * 64)
    data = [(x[i:i + 64], y[i:i + 64]) for i in range(0, len(x), 64)]
    model = SpiralNet(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        xb, yb = batch
        return F.cross_entropy(model(xb), yb)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
