"""Smoke test of an MLP classifier."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_mlp",
    "description": "torch.randn inputs with random labels, as in a quick 'does it run' script: it can memorise, nothing more.",
    "roots": [],
}


class MLP(nn.Module):
    def __init__(self, in_dim=32, hidden=128, num_classes=10):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, num_classes)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [(torch.randn(16, 32), torch.randint(0, 10, (16,))) for _ in range(4)]
    model = MLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        x, y = batch
        return criterion(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
