"""Wine-quality classes from chemical measurements, MLP with SGD."""
import numpy as np
import torch
import torch.nn as nn

META = {
    "id": "b5_wine_raw",
    "source": "CASES.md: DeepFD 59278771 / 44066044, TheDeepChecker 53471761 (Stack Overflow)",
    "roots": ["unnormalized-inputs"],
    "description": "measurements on scales from 0.1 to 1500 go into the network without standardisation",
    "location": "build: X used as it comes from the table",
    "shows_in": "one-batch",
}

#         alcohol malic ash alcalinity magnesium phenols flavanoids intensity proline sulphur
CENTER = np.array([13.0, 2.3, 2.4, 19.5, 100.0, 2.3, 2.0, 5.0, 750.0, 130.0])
SPREAD = np.array([0.8, 1.1, 0.3, 3.3, 14.0, 0.6, 1.0, 2.3, 310.0, 45.0])


class WineNet(nn.Module):
    def __init__(self, n_in, n_classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, 128),
            nn.ReLU(),
            nn.Linear(128, 128),
            nn.ReLU(),
        )
        self.out = nn.Linear(128, n_classes)

    def forward(self, x):
        return self.out(self.body(x))


def load_wine(n, seed):
    rng = np.random.default_rng(seed)
    protos = np.random.default_rng(11).normal(0, 1.2, (3, len(CENTER)))
    y = rng.integers(0, 3, n)
    z = protos[y] + 0.6 * rng.normal(size=(n, len(CENTER)))
    return CENTER + SPREAD * z, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    X, y = load_wine(8 * 24, seed)
    if fixed:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = torch.tensor(X, dtype=torch.float32)
    y = torch.tensor(y)
    data = [(X[i:i + 24], y[i:i + 24]) for i in range(0, len(X), 24)]

    model = WineNet(X.shape[1], 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        inputs, labels = batch
        return criterion(model(inputs), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
