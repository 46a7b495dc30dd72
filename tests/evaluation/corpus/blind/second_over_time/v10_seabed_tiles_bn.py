import torch
import torch.nn as nn

META = {"id": "v10_seabed_tiles_bn",
        "source": "segmentation and point-cloud repositories trained with two samples per GPU ('val much worse than train, BatchNorm with batch size 2', many GitHub issues)",
        "roots": ["batch-too-small"],
        "checks": [],
        "description": "BatchNorm over two samples at a time: the normalised values are mostly +1/-1, depend on the partner in the batch, and the running statistics of eval mode do not fit them.",
        "location": "build: batch size handed to tiles()"}


class Sonar:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.mix = torch.randn(5, 20, generator=self.g) / 2

    def pings(self, n):
        z = torch.randn(n, 5, generator=self.g)
        sediment = (z[:, 0] + z[:, 1] * z[:, 2] > 0).long() + 2 * (z[:, 3] > 0.2 * z[:, 4]).long()
        return z @ self.mix + 0.15 * torch.randn(n, 20, generator=self.g), sediment


def tiles(sonar, n, size):
    x, y = sonar.pings(n)
    return [{"ping": a, "sediment": b} for a, b in zip(x.split(size), y.split(size))]


class SedimentNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, width), nn.BatchNorm1d(width), nn.ReLU(),
                                    nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU())
        self.logits = nn.Linear(width, 4)

    def forward(self, ping):
        return self.logits(self.layers(ping))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    sonar = Sonar(seed + 90)
    data = tiles(sonar, 1600, 32 if fixed else 2)
    val = tiles(sonar, 320, 64)
    net = SedimentNet()
    ce = nn.CrossEntropyLoss()
    return {"model": net, "optimizer": torch.optim.Adam(net.parameters(), lr=3e-3), "data": data, "val": val,
            "loss": lambda m, b: ce(m(b["ping"]), b["sediment"])}
