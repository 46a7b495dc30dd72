import contextlib
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_evaluate_bn_dropout", "source": "healthy; image classifier with a restoring eval context",
        "roots": [], "checks": ["evaluates_cleanly"], "description": "evaluation in eval mode, summed per sample and divided by count, every module's mode restored", "location": ""}


@contextlib.contextmanager
def evaluating(model):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        for m, t in modes.items():
            m.training = t


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Flatten(), nn.Dropout(0.1), nn.Linear(256, 3))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 48)
    n = 32 * 34
    y = torch.randint(0, 3, (n,), generator=g)
    x = 0.7 * torch.randn(n, 1, 8, 8, generator=g)
    proto = torch.randn(3, 1, 8, 8, generator=g) * 0.8
    x = x + proto[y] * (0.6 + torch.rand(n, 1, 1, 1, generator=g))
    b = list(zip(x.split(32), y.split(32)))
    net = PatchNet()

    def evaluate(val):
        tot = cnt = 0
        with evaluating(net) as m:
            for xb, yb in val:
                tot += F.cross_entropy(m(xb), yb, reduction="sum").double().item()
                cnt += len(yb)
        return tot / cnt

    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=2e-3), "data": b[:28], "val": b[28:],
            "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1]), "evaluate": evaluate}
