"""CNN for gesture windows from an accelerometer, trained with NLLLoss."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_nll_logits",
    "source": "stackoverflow 53813636 (missing softmax layer)",
    "roots": ["missing-activation-for-loss"],
    "description": "NLLLoss gets raw logits, log_softmax is missing: the loss falls without bound",
    "location": "GestureNet.forward, return value",
    "shows_in": "one-batch",
}


class GestureNet(nn.Module):
    def __init__(self, n_gestures=6, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.conv1 = nn.Conv1d(3, 24, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(24)
        self.conv2 = nn.Conv1d(24, 32, 5, padding=2)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32 * 8, n_gestures)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool1d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.fc(x.flatten(1))
        return F.log_softmax(x, dim=1) if self.fixed else x


def make_data(n_batches=6, batch_size=32, length=32):
    shapes = torch.randn(6, 3, length).cumsum(-1) / 3
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch_size,))
        gain = 0.7 + 0.6 * torch.rand(batch_size, 1, 1)
        x = gain * shapes[y] + 0.5 * torch.randn(batch_size, 3, length)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = GestureNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.NLLLoss()

    def loss(model, batch):
        windows, gesture = batch
        return criterion(model(windows), gesture)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
