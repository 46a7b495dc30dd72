import copy
import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_mean_teacher", "source": "healthy; mean teacher semi-supervised learning",
        "roots": [], "checks": [], "description": "half of each batch is unlabelled (-1) and trained by consistency with an EMA teacher", "location": ""}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.drop = nn.Linear(12, 64), nn.Linear(64, 4), nn.Dropout(0.1)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.fc1(x))))


def ramp(it, length=80):
    t = min(it / length, 1.0)
    return float(torch.exp(torch.tensor(-5.0 * (1 - t) ** 2)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 12)
    W = torch.randn(12, 4, generator=g)
    x = torch.randn(48 * 20, 12, generator=g)
    y = (x @ W).argmax(1)
    y[torch.rand(len(y), generator=g) < 0.5] = -1
    student = Classifier()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.detach_()
    opt = torch.optim.Adam(student.parameters(), lr=4e-3)
    it = 0

    def step(batch):
        nonlocal it
        xb, yb = batch["x"], batch["y"]
        student.train()
        logits = student(xb + 0.05 * torch.randn_like(xb))
        with torch.no_grad():
            tgt = teacher(xb).softmax(1)
        ce = F.cross_entropy(logits, yb, ignore_index=-1)
        cons = F.mse_loss(logits.softmax(1), tgt)
        loss = ce + 2.0 * ramp(it) * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        it += 1
        a = min(1 - 1 / (it + 1), 0.97)
        with torch.no_grad():
            for tp, sp in zip(teacher.parameters(), student.parameters()):
                tp.mul_(a).add_(sp, alpha=1 - a)
        return loss.item()

    teacher.eval()
    return {"model": student, "optimizer": opt, "step": step,
            "data": [{"x": a, "y": b} for a, b in zip(x.split(48), y.split(48))]}
