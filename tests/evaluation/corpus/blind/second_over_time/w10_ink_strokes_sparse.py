import numpy as np
import torch
import torch.nn as nn

META = {"id": "w10_ink_strokes_sparse",
        "source": "handwriting pictures (MNIST, QuickDraw): most pixels are exactly 0, the border in every picture",
        "roots": [],
        "checks": [],
        "description": "Healthy: over 90 % of the pixels are 0 and the border is empty in all pictures, as in MNIST; a small convolutional network learns the four strokes and carries over.",
        "location": ""}

S = 14


def draw(n, rng):
    kinds = rng.integers(0, 4, n)
    x = np.zeros((n, S, S), np.float32)
    for k in range(n):
        r, c = rng.integers(4, 10, 2)
        ln = rng.integers(2, 4)
        for o in range(-ln, ln + 1):
            pts = {0: [(r, c + o)], 1: [(r + o, c)], 2: [(r + o, c), (r, c + o)], 3: [(r + o, c + o), (r + o, c - o)]}[int(kinds[k])]
            for i, j in pts:
                if 1 <= i < S - 1 and 1 <= j < S - 1:
                    x[k, i, j] = rng.uniform(0.5, 1.0)
                    if rng.random() < 0.4 and j + 1 < S - 1:
                        x[k, i, j + 1] = max(x[k, i, j + 1], rng.uniform(0.1, 0.4))
    return x[:, None], kinds


class InkSet(torch.utils.data.Dataset):
    def __init__(self, n, rng):
        self.x, self.y = draw(n, rng)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"ink": torch.from_numpy(self.x[i]), "kind": int(self.y[i])}


class InkNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
                                 nn.Conv2d(12, 24, 3, padding=1), nn.LeakyReLU(0.1))
        self.fc = nn.Linear(24, 4)

    def forward(self, ink):
        return self.fc(self.enc(ink).amax((2, 3)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 409)
    train = torch.utils.data.DataLoader(InkSet(1280, rng), batch_size=32, shuffle=True,
                                        generator=torch.Generator().manual_seed(seed))
    val = list(torch.utils.data.DataLoader(InkSet(256, rng), batch_size=64))
    model = InkNet()
    ce = nn.CrossEntropyLoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=6e-3), "data": train, "val": val,
            "loss": lambda m, b: ce(m(b["ink"]), b["kind"])}
