"""Distillation: a small student learns the soft outputs of a fixed teacher."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_distill_kl",
    "source": "own experience (kl_div called with student logits)",
    "roots": ["missing-activation-for-loss"],
    "description": "F.kl_div wants log-probabilities as input and gets the student's logits",
    "location": "F.kl_div(student_logits / T, ...)",
    "shows_in": "one-batch",
}
TEMP = 2.0


class Student(nn.Module):
    def __init__(self, n_in=20, n_classes=8, hidden=160):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_classes)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def make_teacher():
    teacher = nn.Sequential(nn.Linear(20, 128), nn.Tanh(), nn.Linear(128, 8))
    with torch.no_grad():
        teacher[2].weight.mul_(12.0)
    return teacher.eval().requires_grad_(False)


def make_data(teacher, n_batches=8, batch_size=48):
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch_size, 20)
        with torch.no_grad():
            data.append({"x": x, "teacher_logits": teacher(x)})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data(make_teacher())
    model = Student()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        student_logits = model(batch["x"])
        soft = F.softmax(batch["teacher_logits"] / TEMP, dim=-1)
        scaled = student_logits / TEMP
        if fixed:
            scaled = F.log_softmax(scaled, dim=-1)
        return F.kl_div(scaled, soft, reduction="batchmean") * TEMP ** 2

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
