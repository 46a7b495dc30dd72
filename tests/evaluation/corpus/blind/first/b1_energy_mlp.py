"""Building energy use regression."""
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

META = {
    "id": "b1_energy_mlp",
    "source": "CASES.md C 38447935 (always produces the mean), E 47267612",
    "roots": ["target-shape-mismatch"],
    "description": "output (N, 1) against targets (N,): the squared error is broadcast to (N, N)",
    "location": "loss: criterion(model(x), y)",
    "shows_in": "one-batch",
}


class EnergyNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, 64), nn.SiLU(),
            nn.Linear(64, 64), nn.SiLU(),
        )
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


def make_buildings(n):
    area = torch.rand(n) * 2 - 1
    temp = torch.randn(n)
    hour = torch.rand(n) * 24
    glazing = torch.rand(n) * 2 - 1
    wall = torch.randn(n)
    angle = hour / 24 * 2 * torch.pi
    x = torch.stack([area, temp, torch.sin(angle), torch.cos(angle), glazing, wall], dim=1)
    use = 1.5 * area - temp * (1 + 0.5 * glazing) + 0.8 * torch.sin(angle) + 0.3 * wall ** 2
    use = (use - use.mean()) / use.std()
    return x, use


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, use = make_buildings(8 * 64)
    loader = DataLoader(TensorDataset(x, use), batch_size=64)
    data = [tuple(b) for b in loader]
    model = EnergyNet(x.shape[1])
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        x, y = batch
        pred = model(x)
        if fixed:
            pred = pred.squeeze(-1)
        return criterion(pred, y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
