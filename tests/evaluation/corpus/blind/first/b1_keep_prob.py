"""Crop type classification from satellite time series (ported from TensorFlow)."""
import torch
import torch.nn as nn

META = {
    "id": "b1_keep_prob",
    "source": "CASES.md D SO IPS_12 (dropout called with keep_prob as rate)",
    "roots": ["too-much-regularization"],
    "description": "nn.Dropout gets the keep probability 0.9 as its drop probability",
    "location": "CropNet.drop1, CropNet.drop2: nn.Dropout(keep_prob)",
    "shows_in": "one-batch",
}


class CropNet(nn.Module):
    def __init__(self, n_bands, n_dates, n_crops, p):
        super().__init__()
        self.conv = nn.Conv1d(n_bands, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * n_dates, 64)
        self.drop1 = nn.Dropout(p)
        self.fc2 = nn.Linear(64, 32)
        self.drop2 = nn.Dropout(p)
        self.out = nn.Linear(32, n_crops)

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(1)
        x = self.drop1(torch.relu(self.fc1(x)))
        x = self.drop2(torch.relu(self.fc2(x)))
        return self.out(x)


def make_fields(n, n_bands, n_dates, n_crops):
    t = torch.linspace(0, 1, n_dates)
    peak = torch.rand(n_crops, 1) * 0.6 + 0.2
    width = 0.1 + 0.15 * torch.rand(n_crops, 1)
    curve = torch.exp(-((t - peak) / width) ** 2)
    bands = torch.randn(n_crops, n_bands, 1)
    crop = torch.randint(0, n_crops, (n,))
    x = bands[crop] * curve[crop].unsqueeze(1) + 0.2 * torch.randn(n, n_bands, n_dates)
    return (x - x.mean()) / x.std(), crop


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_bands, n_dates, n_crops, bs = 4, 12, 8, 32
    x, crop = make_fields(10 * bs, n_bands, n_dates, n_crops)
    data = list(zip(x.split(bs), crop.split(bs)))
    keep_prob = 0.9
    model = CropNet(n_bands, n_dates, n_crops, p=1 - keep_prob if fixed else keep_prob)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        x, crop = batch
        return criterion(model(x), crop)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
