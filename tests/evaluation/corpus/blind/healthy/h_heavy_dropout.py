"""Wide classifier with dropout 0.6 on a sparse bag of words."""
import torch
import torch.nn as nn

META = {
    "id": "h_heavy_dropout",
    "description": 'Heavy dropout on input and hidden layer keeps the training loss noisy and above the evaluation loss.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        y = torch.randint(0, 4, (48,))
        p = torch.full((48, 120), 0.04)
        for c in range(4):
            p[y == c, 30 * c:30 * c + 30] = 0.3
        data.append((torch.bernoulli(p), y))
    model = nn.Sequential(nn.Dropout(0.3), nn.Linear(120, 256), nn.ReLU(), nn.Dropout(0.6), nn.Linear(256, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
