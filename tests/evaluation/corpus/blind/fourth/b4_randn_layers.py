"""Digit-like classification with layers written by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_randn_layers",
    "source": "CASES.md SO IPS_4 (random_normal with std 1 for 500-unit layers)",
    "roots": ["bad-initialization"],
    "description": "weights are torch.randn without scaling: the first loss is in the thousands",
    "location": "Dense.weight",
    "shows_in": "full-data",
}


class Dense(nn.Module):
    def __init__(self, n_in, n_out, scaled):
        super().__init__()
        w = torch.randn(n_in, n_out)
        if scaled:
            w = w * (2.0 / n_in) ** 0.5
        self.weight = nn.Parameter(w)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class DigitNet(nn.Module):
    def __init__(self, scaled):
        super().__init__()
        self.fc1 = Dense(64, 256, scaled)
        self.fc2 = Dense(256, 256, scaled)
        self.fc3 = Dense(256, 10, scaled)

    def forward(self, x):
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    prototypes = torch.randn(10, 8, 8)
    label = torch.randint(0, 10, (320,))
    images = 0.4 * prototypes[label] + 0.9 * torch.randn(320, 8, 8)
    data = [(images[i:i + 40], label[i:i + 40]) for i in range(0, 320, 40)]
    model = DigitNet(scaled=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
