"""Activity recognition from accelerometer windows (1-D CNN in one nn.Sequential)."""
import torch
import torch.nn as nn

META = {
    "id": "b4_softmax_tail",
    "source": "CASES.md 57605741 / redundant_softmax",
    "roots": ["double-softmax"],
    "description": "the network ends in nn.Softmax and is trained with nn.CrossEntropyLoss",
    "location": "last layer of the Sequential",
    "shows_in": "one-batch",
}

ACTIVITIES = 8


def make_net(final):
    layers = [
        nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        nn.Linear(128, ACTIVITIES),
    ]
    if final is not None:
        layers.append(final)
    return nn.Sequential(*layers)


def windows(n, length=40):
    label = torch.randint(0, ACTIVITIES, (n,))
    t = torch.arange(length).float()
    rate = 0.2 + 0.12 * label.float()
    phase = torch.rand(n, 3, 1) * 6.28
    amp = 0.5 + torch.rand(n, 3, 1)
    x = amp * torch.sin(rate[:, None, None] * t + phase)
    return x + 0.1 * torch.randn(n, 3, length), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, label = windows(320)
    data = [(x[i:i + 40], label[i:i + 40]) for i in range(0, 320, 40)]
    model = make_net(None if fixed else nn.Softmax(dim=1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        window, activity = batch
        return criterion(model(window), activity)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
