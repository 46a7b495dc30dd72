import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_data2vec_alias",
        "source": "self-distillation repos: teacher = student.backbone without deepcopy, then requires_grad_(False) on the teacher",
        "roots": ["frozen-parameters"], "checks": [],
        "description": "The teacher is the student's backbone itself, so freezing the teacher freezes the student and only the heads are trained.",
        "location": "SelfDistiller.__init__: self.teacher"}


class Backbone(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, h), nn.GELU(), nn.Linear(h, h))

    def forward(self, x):
        return self.layers(x)


class Student(nn.Module):
    def __init__(self, d=12, h=32, classes=3):
        super().__init__()
        self.backbone = Backbone(d, h)
        self.regress = nn.Linear(h, h)
        self.classify = nn.Linear(h, classes)


class SelfDistiller:
    def __init__(self, student, fixed, momentum=0.98, weight=0.1):
        self.student, self.m, self.w = student, momentum, weight
        self.teacher = copy.deepcopy(student.backbone) if fixed else student.backbone
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(student.parameters(), lr=3e-3)

    def step(self, batch):
        x, y, drop = batch
        h = self.student.backbone(x)
        with torch.no_grad():
            t = F.layer_norm(self.teacher(x), (32,))
        masked = self.student.backbone(x * drop)
        loss = F.cross_entropy(self.student.classify(h), y) + self.w * F.smooth_l1_loss(self.student.regress(masked), t)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for a, b in zip(self.teacher.parameters(), self.student.backbone.parameters()):
                a.copy_(self.m * a + (1 - self.m) * b)
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 26)
    teacher_w = torch.randn(12, 16, generator=g), torch.randn(16, 3, generator=g)
    data = []
    for _ in range(40):
        x = torch.randn(32, 12, generator=g)
        y = ((x @ teacher_w[0]).relu() @ teacher_w[1]).argmax(1)
        data.append((x, y, (torch.rand(32, 12, generator=g) > 0.2).float()))
    student = Student()
    d = SelfDistiller(student, fixed)
    return {"model": student, "optimizer": d.opt, "data": data, "step": d.step}
