"""Knowledge distillation of a wide teacher into a small student CNN."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_distill_kl_logits",
    "source": "microsoft/ProDA #20, #43 (kl_div without log_softmax on the student); here raw logits",
    "roots": ["missing-activation-for-loss"],
    "description": "F.kl_div gets the student's tempered logits, log_softmax is missing: the loss falls below zero without bound",
    "location": "Distiller.kd_loss",
    "shows_in": "one-batch",
}


class Student(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 25, 64)
        self.fc2 = nn.Linear(64, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


class Teacher(nn.Module):
    """Nearest-prototype classifier with fixed weights; stands in for a pretrained net."""

    def __init__(self, prototypes):
        super().__init__()
        self.register_buffer("prototypes", prototypes.flatten(1))

    def forward(self, x):
        return -torch.cdist(x.flatten(1), self.prototypes) * 3.0


class Distiller:
    def __init__(self, student, teacher, T, use_log_softmax):
        self.student, self.teacher, self.T = student, teacher.eval(), T
        self.use_log_softmax = use_log_softmax
        self.optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)

    def kd_loss(self, student_logits, teacher_logits):
        s = student_logits / self.T
        if self.use_log_softmax:
            s = F.log_softmax(s, dim=1)
        t = F.softmax(teacher_logits / self.T, dim=1)
        return F.kl_div(s, t, reduction="batchmean") * self.T ** 2

    def step(self, images):
        with torch.no_grad():
            teacher_logits = self.teacher(images)
        loss = self.kd_loss(self.student(images), teacher_logits)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(10, 1, 10, 10, generator=torch.Generator().manual_seed(15))
    y = torch.randint(0, 10, (8 * 32,), generator=g)
    x = prototypes[y] + 0.5 * torch.randn(len(y), 1, 10, 10, generator=g)
    data = list(x.split(32))
    distiller = Distiller(Student(), Teacher(prototypes), T=2.0, use_log_softmax=fixed)
    return {"model": distiller.student, "optimizer": distiller.optimizer, "data": data, "step": distiller.step}
