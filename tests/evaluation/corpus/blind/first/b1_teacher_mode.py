"""Knowledge distillation of a dropout teacher into a small CNN student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_teacher_mode",
    "source": "own experience; CASES.md C 48138483 (dropout always active)",
    "roots": ["wrong-mode"],
    "description": "the teacher is left in train mode: its dropout makes noisy targets",
    "location": "teacher (teacher.eval() missing)",
    "shows_in": "wiring",
}


class Net(nn.Module):
    def __init__(self, width, n_classes=6, p=0.0):
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(width * 25, n_classes)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.fc(self.drop(x.flatten(1)))


class Distiller(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher = teacher
        self.student = student


def make_images(n, proto):
    label = torch.randint(0, len(proto), (n,))
    return proto[label] + 0.7 * torch.randn(n, 1, 10, 10), label


def train_teacher(teacher, proto):
    x, y = make_images(256, proto)
    opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for i in range(60):
        j = i % 8 * 32
        opt.zero_grad()
        F.cross_entropy(teacher(x[j:j + 32]), y[j:j + 32]).backward()
        opt.step()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    proto = torch.randn(6, 1, 10, 10)
    teacher = Net(width=24, p=0.5)
    train_teacher(teacher, proto)
    teacher.requires_grad_(False)
    if fixed:
        teacher.eval()
    model = Distiller(teacher, Net(width=12))
    x, _ = make_images(8 * 32, proto)
    data = list(x.split(32))
    optimizer = torch.optim.Adam(model.student.parameters(), lr=3e-3)
    T = 3.0

    def step(images):
        model.student.train()
        with torch.no_grad():
            soft = F.softmax(model.teacher(images) / T, dim=1)
        log_p = F.log_softmax(model.student(images) / T, dim=1)
        loss = F.kl_div(log_p, soft, reduction="batchmean") * T ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
