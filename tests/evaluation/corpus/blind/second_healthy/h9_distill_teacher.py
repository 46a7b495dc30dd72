import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_distill_teacher", "source": "knowledge distillation examples", "roots": [], "checks": [],
        "description": "healthy distillation: teacher trained in build then eval and no_grad, KL at T=3 (times T^2), hints, semi-supervised batch",
        "location": ""}


class Conv(nn.Module):
    def __init__(self, c, classes=5):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(c, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.fc = nn.Linear(c * 9, classes)

    def forward(self, x):
        h = self.b(self.a(x))
        return self.fc(h.flatten(1)), h


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    proto = F.avg_pool2d(torch.randn(5, 1, 14, 14, generator=g), 3, 1) * 2.5
    y = torch.randint(0, 5, (512,), generator=g)
    x = proto[y] + 0.9 * torch.randn(512, 1, 12, 12, generator=g)
    teacher = Conv(32)
    o = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for i in range(48):
        s = slice(i % 16 * 32, i % 16 * 32 + 32)
        o.zero_grad()
        F.cross_entropy(teacher(x[s])[0], y[s]).backward()
        o.step()
    teacher.eval().requires_grad_(False)
    student, regress = Conv(12), nn.Conv2d(12, 32, 1)
    opt = torch.optim.SGD([*student.parameters(), *regress.parameters()], lr=0.03, momentum=0.9, nesterov=True)
    known = torch.rand(512, generator=g) < 0.4
    y = torch.where(known, y, -1)
    data = [(x[i], y[i]) for i in torch.randperm(512, generator=g).split(32)]
    T = 3.0

    def step(batch):
        xb, yb = batch
        student.train()
        xb = xb + 0.1 * torch.randn_like(xb)
        with torch.no_grad():
            tl, th = teacher(xb)
        sl, sh = student(xb)
        kd = F.kl_div((sl / T).log_softmax(1), (tl / T).softmax(1), reduction="batchmean") * T * T
        hint = F.mse_loss(regress(sh), th)
        ce = F.cross_entropy(sl, yb, ignore_index=-1) if (yb >= 0).any() else sl.sum() * 0
        loss = 0.7 * kd + 0.3 * ce + 0.1 * hint
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": nn.ModuleDict({"student": student, "regress": regress}), "optimizer": opt, "data": data, "step": step}
