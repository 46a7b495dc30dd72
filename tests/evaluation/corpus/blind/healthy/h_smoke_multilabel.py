"""Smoke test of a multi-label CNN."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_multilabel",
    "description": 'Random images and random 0/1 label vectors with BCEWithLogits.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self, n_labels=6):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.classifier = nn.Linear(32 * 4 * 4, n_labels)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [{"pixel_values": torch.randn(8, 3, 16, 16), "labels": torch.randint(0, 2, (8, 6)).float()} for _ in range(4)]
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return criterion(model(batch["pixel_values"]), batch["labels"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
