"""Motor fault classifier trained wholly in half precision to save memory."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_half_eps",
    "source": "stackoverflow 42064941, 42327543 (Adam epsilon too low for float16)",
    "roots": ["low-precision-overflow"],
    "description": "model and optimizer state are float16: Adam's squared gradients underflow to zero, as does its eps of 1e-8, and the weights become NaN",
    "location": "model.half() with Adam's default eps",
    "shows_in": "nan",
}


class MotorNet(nn.Module):
    def __init__(self, n_in=32, n_faults=5, hidden=160):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, n_faults),
        )

    def forward(self, x):
        return self.net(x)


def make_data(dtype, n_batches=6, batch_size=32):
    spectra = torch.rand(5, 32) * 2
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        x = spectra[y] + 0.5 * torch.randn(batch_size, 32) - 1.0
        data.append((x.to(dtype), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    dtype = torch.float32 if fixed else torch.float16
    data = make_data(dtype)
    model = MotorNet().to(dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x).float(), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
