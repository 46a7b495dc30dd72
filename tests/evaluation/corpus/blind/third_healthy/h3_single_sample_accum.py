import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_single_sample_accum", "source": "healthy; volumetric nets with one sample per forward and accumulation",
        "roots": [], "checks": [], "description": "a batch is a list of differently sized images, one forward and backward each, gradients divided by their number", "location": ""}


class FCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(1, 16, 3, padding=1), nn.InstanceNorm2d(16, affine=True)
        self.c2, self.n2 = nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16)
        self.fc = nn.Linear(32, 3)

    def forward(self, x):
        h = F.leaky_relu(self.n1(self.c1(x)), 0.1)
        h = F.leaky_relu(self.n2(self.c2(h)), 0.1)
        return self.fc(torch.cat([h.mean((2, 3)), h.amax((2, 3))], 1))


def image(g):
    y = int(torch.randint(0, 3, (1,), generator=g))
    h, w = torch.randint(7, 12, (2,), generator=g).tolist()
    x = 0.3 * torch.randn(1, 1, h, w, generator=g)
    off = int(torch.randint(0, 2, (1,), generator=g))
    if y == 0:
        x[..., off::2, :] += 1
    elif y == 1:
        x[..., off::2] += 1
    else:
        x[..., off::2, ::2] += 1.5
    return x, torch.tensor([y])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 45)
    net = FCN()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)

    def step(cases):
        opt.zero_grad()
        total = 0.0
        for x, y in cases:
            loss = F.cross_entropy(net(x), y) / len(cases)
            loss.backward()
            total += loss.item()
        opt.step()
        return total

    return {"model": net, "optimizer": opt, "data": [[image(g) for _ in range(8)] for _ in range(40)], "step": step}
