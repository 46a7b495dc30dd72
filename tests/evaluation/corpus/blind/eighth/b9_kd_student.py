import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_kd_student", "source": "knowledge-distillation repositories; mmpretrain/detectron issues on frozen BatchNorm",
        "roots": ["frozen-parameters-change", "wrong-mode"], "checks": [],
        "description": "the frozen teacher is a child of the distiller and follows distiller.train(): its BatchNorm statistics move with the noisy student batches, and its dropout is on",
        "location": "Distiller (no train() of its own)"}


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Net(nn.Module):
    def __init__(self, width, n_classes=6, drop=0.0):
        super().__init__()
        self.stem = conv_bn(3, width)
        self.body = nn.Sequential(conv_bn(width, width * 2, 2), conv_bn(width * 2, width * 2, 2))
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(width * 2, n_classes)

    def forward(self, x):
        x = self.body(self.stem(x)).mean((2, 3))
        return self.fc(self.drop(x))


class Distiller(nn.Module):
    def __init__(self, teacher, student, T=2.0, alpha=0.5):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.T, self.alpha = T, alpha
        self.teacher.requires_grad_(False)
        self.teacher.eval()

    def forward(self, x, y):
        with torch.no_grad():
            t = self.teacher(x)
        s = self.student(x)
        kd = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction="batchmean") * self.T ** 2
        return self.alpha * kd + (1 - self.alpha) * F.cross_entropy(s, y)


class FreezingDistiller(Distiller):
    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self


def images(n, seed, shift=0.0):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(1234))
    y = torch.randint(0, 6, (n,), generator=g)
    x = F.interpolate(proto[y], scale_factor=4, mode="bilinear") + 0.5 * torch.randn(n, 3, 16, 16, generator=g)
    return x * (1 + shift) + shift, y


def pretrain(teacher, seed):
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    x, y = images(256, seed + 3)
    teacher.train()
    for ep in range(6):
        for i in range(0, 256, 32):
            opt.zero_grad()
            F.cross_entropy(teacher(x[i:i + 32]), y[i:i + 32]).backward()
            opt.step()
    opt.zero_grad()
    return teacher


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    teacher = pretrain(Net(12, drop=0.5), seed)
    distiller = (FreezingDistiller if fixed else Distiller)(teacher, Net(6))
    optimizer = torch.optim.SGD(distiller.student.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    x, y = images(384, seed + 11, shift=0.1)
    data = list(zip(x.split(32), y.split(32)))

    def step(batch):
        distiller.train()
        optimizer.zero_grad()
        loss = distiller(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": distiller, "optimizer": optimizer, "data": data, "step": step}
