import torch
import torch.nn as nn

META = {"id": "t9_bone_density", "source": "segmentation repository's issue: batch size 1 to fit the card, BatchNorm kept",
        "roots": ["batch-too-small"], "checks": [],
        "description": "BatchNorm sees one small picture at a time, so its statistics erase what tells the classes apart",
        "location": "build: batch_size=1"}


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class BoneNet(nn.Module):
    """Grades bone density (4 grades) from a small crop."""

    def __init__(self, c=12):
        super().__init__()
        self.stem = block(1, c)
        self.down = nn.MaxPool2d(2)
        self.deep = block(c, 2 * c)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(2 * c, 4))

    def forward(self, x):
        return self.head(self.pool(self.deep(self.down(self.stem(x)))))


def crops(n, g):
    grade = torch.randint(0, 4, (n,), generator=g)
    density = grade.float() / 3 * 2 - 1 + 0.12 * torch.randn(n, generator=g)
    x = density[:, None, None, None] + 0.5 * torch.randn(n, 1, 8, 8, generator=g)
    x[:, :, 3:5] += 0.8 * torch.rand(n, 1, 1, 1, generator=g)
    return x, grade


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 90)
    x, y = crops(960, g)
    vx, vy = crops(192, g)
    batch_size = 32 if fixed else 1
    net = BoneNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    ce = nn.CrossEntropyLoss()

    def step(batch):
        net.train()
        images, grades = batch
        opt.zero_grad()
        loss = ce(net(images), grades)
        loss.backward()
        opt.step()
        return loss.detach()

    data = list(zip(x.split(batch_size), y.split(batch_size)))
    val = list(zip(vx.split(32), vy.split(32)))
    return {"model": net, "optimizer": opt, "data": data, "step": step, "val": val}
