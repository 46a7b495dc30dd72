import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "t9_segment_digits", "source": "PyTorch tutorial on seven segment digits", "roots": [],
        "checks": ["generalizes"], "description": "healthy: a small gap between training and validation", "location": ""}

SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def draw(digit, g):
    img = torch.zeros(11, 9)
    dy, dx = torch.randint(0, 2, (2,), generator=g).tolist()
    strokes = [(0, slice(1, 6), "h"), (0, 0, "v"), (0, 6, "v"), (4, slice(1, 6), "h"), (5, 0, "v"), (5, 6, "v"), (8, slice(1, 6), "h")]
    for on, (r, c, kind) in zip(SEGMENTS[digit], strokes):
        if on == "1":
            if kind == "h":
                img[r + dy, c.start + dx:c.stop + dx] = 1
            else:
                img[r + dy:r + dy + 4, c + dx] = 1
    return img + 0.35 * torch.randn(11, 9, generator=g)


def digits(n, g):
    y = torch.randint(0, 10, (n,), generator=g)
    x = torch.stack([draw(int(k), g) for k in y])[:, None]
    return (x - 0.3) / 0.5, y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3)
        self.fc1 = nn.Linear(16 * 9 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv(x)).flatten(1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    x, y = digits(2560, g)
    vx, vy = digits(500, g)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = [(x[i:i + 64], y[i:i + 64]) for i in range(0, len(x), 64)]
    test = [(vx[i:i + 100], vy[i:i + 100]) for i in range(0, len(vx), 100)]
    return {"model": model, "optimizer": optimizer, "data": train, "val": test,
            "loss": lambda model, batch: F.nll_loss(model(batch[0]), batch[1])}
