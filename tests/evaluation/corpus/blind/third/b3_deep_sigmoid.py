"""Letter recognition from pen features with a deep, narrow network."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_deep_sigmoid",
    "source": "CASES.md H 'vanish'",
    "roots": ["vanishing-gradients"],
    "description": "nine sigmoid layers in a row: the gradient is gone before it reaches the first ones",
    "location": "LetterNet: nn.Sigmoid in the hidden layers",
    "shows_in": "one-batch",
}


class LetterNet(nn.Module):
    def __init__(self, activation, n_in=16, width=48, depth=9, n_letters=8):
        super().__init__()
        layers, size = [], n_in
        for _ in range(depth):
            layers += [nn.Linear(size, width), activation()]
            size = width
        self.hidden = nn.Sequential(*layers)
        self.out = nn.Linear(width, n_letters)
        for m in self.hidden:
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.out(self.hidden(x))


def letters(g, n_batches=8, batch=48):
    stroke = torch.randn(8, 2, 16, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 8, (batch,), generator=g)
        style = torch.randint(0, 2, (batch,), generator=g)
        data.append((stroke[y, style] + 0.3 * torch.randn(batch, 16, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 38)
    data = letters(g)
    model = LetterNet(nn.ReLU if fixed else nn.Sigmoid)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
