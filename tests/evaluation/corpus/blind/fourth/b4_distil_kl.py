"""Knowledge distillation of a fixed teacher into a small student."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_distil_kl",
    "source": "own experience; forum pattern 'KLDivLoss is negative'; cf. CASES.md rwth-i6/returnn c2c4b866",
    "roots": ["missing-activation-for-loss"],
    "description": "F.kl_div gets the student's raw logits instead of log-probabilities",
    "location": "soft loss in Distiller.step",
    "shows_in": "one-batch",
}


def mlp(n_in, width, n_out):
    return nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, n_out))


class Distiller:
    def __init__(self, teacher, student, temperature, fixed):
        self.teacher = teacher.eval().requires_grad_(False)
        self.student = student
        self.T = temperature
        self.fixed = fixed
        self.opt = torch.optim.Adam(student.parameters(), lr=3e-3)

    def soft_loss(self, s_logits, t_logits):
        target = F.softmax(t_logits / self.T, dim=-1)
        student = s_logits / self.T
        if self.fixed:
            student = F.log_softmax(student, dim=-1)
        return F.kl_div(student, target, reduction="batchmean") * self.T ** 2

    def step(self, x):
        with torch.no_grad():
            t_logits = self.teacher(x)
        self.student.train()
        self.opt.zero_grad()
        loss = self.soft_loss(self.student(x), t_logits)
        loss.backward()
        self.opt.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    teacher = mlp(16, 128, 7)
    with torch.no_grad():
        for p in teacher.parameters():
            p.mul_(2.5)
    student = mlp(16, 96, 7)
    x = torch.randn(384, 16)
    data = list(x.split(48))
    distiller = Distiller(teacher, student, 2.0, fixed)
    return {"model": student, "optimizer": distiller.opt, "data": data, "step": distiller.step}
