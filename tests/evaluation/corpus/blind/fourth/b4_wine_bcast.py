"""Wine quality regression (MLP, hand-written squared error)."""
import torch
import torch.nn as nn

META = {
    "id": "b4_wine_bcast",
    "source": "CASES.md 38447935 (model always produces the mean: bad tensor shape)",
    "roots": ["target-shape-mismatch"],
    "description": "predictions are (N, 1), targets (N,): the difference broadcasts to (N, N)",
    "location": "squared_error",
    "shows_in": "one-batch",
}


class QualityNet(nn.Module):
    def __init__(self, n_in=11):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)
        self.act = nn.GELU()

    def forward(self, x):
        x = self.act(self.fc1(x))
        x = self.act(self.fc2(x))
        return self.fc3(x)


def squared_error(prediction, target):
    return torch.mean((prediction - target) ** 2)


def collate(samples, column):
    x = torch.stack([s[0] for s in samples])
    y = torch.stack([s[1] for s in samples])
    return x, y[:, None] if column else y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x = torch.randn(512, 11)
    w = torch.randn(11) / 3
    y = torch.tanh(x @ w) * 2 + 0.5 * x[:, 0] * x[:, 1]
    samples = list(zip(x, y))
    data = [collate(samples[i:i + 64], column=fixed) for i in range(0, 512, 64)]
    model = QualityNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)

    def loss(model, batch):
        x, y = batch
        return squared_error(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
