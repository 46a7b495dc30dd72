import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_micro_segment", "source": "segmentation training with gradient accumulation over micro batches", "roots": ["accumulation-not-scaled", "lr-too-high"], "checks": [],
 "description": "each batch is split into 8 micro batches whose mean losses are backpropagated without division by 8: gradients are 8 times too large",
 "location": "run_micro"}

class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Conv2d(1, 8, 3, padding=1)
        self.d2 = nn.Conv2d(8, 16, 3, padding=1)
        self.u1 = nn.Conv2d(24, 8, 3, padding=1)
        self.o = nn.Conv2d(8, 1, 1)
    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.d2(F.max_pool2d(a, 2)))
        return self.o(F.relu(self.u1(torch.cat([a, F.interpolate(b, scale_factor=2)], 1))))

def run_micro(model, batch, n, crit, fixed):
    x, m = batch
    total = 0.
    for xi, mi in zip(x.chunk(n), m.chunk(n)):
        l = crit(model(xi), mi)
        (l / n if fixed else l).backward()
        total += l.item() / n
    return total

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(12.), torch.arange(12.), indexing="ij")
    data = []
    for _ in range(6):
        c = 3 + 6 * torch.rand(16, 2); r = 2 + 2 * torch.rand(16)
        m = ((yy - c[:, :1, None]) ** 2 + (xx - c[:, 1:, None]) ** 2 < r[:, None, None] ** 2).float().unsqueeze(1)
        data.append((2 * m - 0.5 + 0.7 * torch.randn(16, 1, 12, 12), m))
    model = TinyUNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.9)
    crit = nn.BCEWithLogitsLoss()
    def step(batch):
        opt.zero_grad()
        loss = run_micro(model, batch, 8, crit, fixed)
        opt.step()
        return loss
    return {"model": model, "optimizer": opt, "data": data, "step": step}
