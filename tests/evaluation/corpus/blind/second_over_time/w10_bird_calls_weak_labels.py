import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "w10_bird_calls_weak_labels",
        "source": "citizen-science bird call data (BirdCLEF): labels are wrong now and then, the nets learn all the same",
        "roots": [],
        "checks": [],
        "description": "Healthy: 8 % of the labels are off in training and validation alike; label smoothing, a small net and 3000 clips keep it learnable, with a floor above 0.",
        "location": ""}

SPECIES = 5


def clips(n, g, proto, wrong=0.08):
    y = torch.randint(0, SPECIES, (n,), generator=g)
    shift = torch.randint(0, 20, (n,), generator=g)
    x = torch.randn(n, 20, 6, generator=g) * 0.7
    for i in range(n):
        x[i, :, :] += proto[y[i]].roll(int(shift[i]), 0)
    noisy = torch.where(torch.rand(n, generator=g) < wrong, torch.randint(0, SPECIES, (n,), generator=g), y)
    return x.transpose(1, 2).contiguous(), noisy


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(6, 24, 5, padding=2, padding_mode="circular")
        self.c2 = nn.Conv1d(24, 24, 3, padding=1, padding_mode="circular")
        self.fc = nn.Linear(24, SPECIES)

    def forward(self, x):
        return self.fc(F.relu(self.c2(F.relu(self.c1(x)))).mean(2))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 401)
    proto = torch.randn(SPECIES, 20, 6, generator=g)
    x, y = clips(3000, g, proto)
    xv, yv = clips(400, g, proto)
    net = CallNet()
    crit = nn.CrossEntropyLoss(label_smoothing=0.03)
    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=5e-3),
            "data": [{"spec": a, "species": b} for a, b in zip(x.split(40), y.split(40))],
            "val": [{"spec": a, "species": b} for a, b in zip(xv.split(80), yv.split(80))],
            "loss": lambda m, b: crit(m(b["spec"]), b["species"])}
