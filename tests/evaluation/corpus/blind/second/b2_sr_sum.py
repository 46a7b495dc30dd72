"""Super-resolution by a factor of two with sub-pixel convolution."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_sr_sum",
    "source": "stackoverflow 48527808, 38056110 (wrong loss function calculation)",
    "roots": ["loss-reduction"],
    "description": "the squared error is summed over all pixels of the batch instead of averaged, far too much for the learning rate",
    "location": "nn.MSELoss(reduction='sum')",
    "shows_in": "one-batch",
}


class SRNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 5, padding=2)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, low):
        h = torch.tanh(self.conv1(low))
        h = torch.tanh(self.conv2(h))
        return F.pixel_shuffle(self.up(h), 2)


def make_data(n_batches=6, batch_size=8, size=20):
    axis = torch.linspace(0, 6.28, size)
    data = []
    for _ in range(n_batches):
        fx, fy = torch.rand(2, batch_size, 1, 1) + 0.5
        px, py = torch.rand(2, batch_size, 1, 1) * 6.28
        high = torch.sin(fx * axis[None, None, :] + px) * torch.cos(fy * axis[None, :, None] + py)
        high = high.unsqueeze(1)
        data.append((F.avg_pool2d(high, 2), high))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SRNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.MSELoss(reduction="mean" if fixed else "sum")

    def loss(model, batch):
        low, high = batch
        return criterion(model(low), high)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
