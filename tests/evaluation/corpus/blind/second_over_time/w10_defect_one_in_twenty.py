import torch
import torch.nn as nn

META = {"id": "w10_defect_one_in_twenty",
        "source": "inspection lines: about one part in twenty is defective, and the defect can be seen",
        "roots": [],
        "checks": [],
        "description": "Healthy: classes are 1:20 in training and validation, no weighting, but the defect is distinct and there are over a hundred of them, so the recall is high.",
        "location": ""}


def line(n, g, rate=0.05):
    y = (torch.rand(n, generator=g) < rate).float()
    sig = torch.randn(n, 1, 40, generator=g) * 0.5
    at = torch.randint(4, 36, (n,), generator=g)
    t = torch.arange(40).float()
    notch = torch.exp(-((t[None] - at[:, None]) / 1.5) ** 2) * (2.5 + torch.rand(n, 1, generator=g))
    hump = torch.exp(-((t[None] - at[:, None]) / 6) ** 2) * 1.2
    sig[:, 0] += torch.where(y[:, None] > 0, notch, hump)
    return sig, y


class NotchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 9, padding=4)
        self.mix = nn.Conv1d(16, 16, 1)
        self.out = nn.Linear(32, 1)

    def forward(self, s):
        h = torch.relu(self.mix(torch.relu(self.conv(s))))
        return self.out(torch.cat([h.amax(2), h.mean(2)], 1)).flatten()


class Inspector:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.train, self.held = line(3200, g), line(640, g)
        self.net = NotchNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def chunks(self, pair, n):
        return [{"signal": a, "defect": b} for a, b in zip(pair[0].split(n), pair[1].split(n))]

    def loss(self, net, batch):
        return self.bce(net(batch["signal"]), batch["defect"])

    def recall(self, _=None):
        x, y = self.held
        with torch.no_grad():
            return float((self.net(x)[y > 0] > 0).float().mean())


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ins = Inspector(seed + 404)
    return {"model": ins.net, "optimizer": ins.opt, "data": ins.chunks(ins.train, 64),
            "val": ins.chunks(ins.held, 128), "loss": ins.loss, "evaluate": ins.recall}
