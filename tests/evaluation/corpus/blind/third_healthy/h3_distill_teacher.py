import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_distill_teacher", "source": "healthy; Hinton distillation trainer",
        "roots": [], "checks": [], "description": "student learns from a pre-fitted frozen teacher with temperature 3 plus hard labels", "location": ""}


def net(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 5))


class DistillTrainer:
    T, alpha = 3.0, 0.7

    def __init__(self, teacher, student):
        self.teacher = teacher.eval()
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.student = student
        self.opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, nesterov=True)

    def step(self, batch):
        x, y = batch
        with torch.inference_mode():
            soft = (self.teacher(x) / self.T).softmax(-1)
        soft = soft.clone()
        self.student.train()
        out = self.student(x)
        kd = F.kl_div((out / self.T).log_softmax(-1), soft, reduction="batchmean") * self.T ** 2
        loss = self.alpha * kd + (1 - self.alpha) * F.cross_entropy(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 6)
    proto = torch.randn(5, 10, generator=g)
    x = torch.randn(32 * 30, 10, generator=g)
    y = (x @ proto.t()).argmax(1)
    teacher = net(96)
    o = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for i in range(120):
        j = torch.randint(0, len(x), (64,), generator=g)
        o.zero_grad()
        F.cross_entropy(teacher(x[j]), y[j]).backward()
        o.step()
    teacher.zero_grad(set_to_none=True)
    tr = DistillTrainer(teacher, net(32))
    return {"model": nn.ModuleDict({"teacher": teacher, "student": tr.student}), "optimizer": tr.opt,
            "data": list(zip(x.split(32), y.split(32))), "step": tr.step}
