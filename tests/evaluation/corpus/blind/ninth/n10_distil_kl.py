import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_distil_kl",
        "source": "knowledge distillation code on forums: F.kl_div wants log-probabilities as its first argument",
        "roots": ["missing-activation-for-loss", "wrong-loss-for-task"], "checks": [],
        "description": "kl_div gets the student's raw scaled logits in the place of log-probabilities; the loss has no lower bound and just pushes all logits up.",
        "location": "DistillLoss.forward: s"}


class DistillLoss(nn.Module):
    def __init__(self, temperature, normalise):
        super().__init__()
        self.t, self.normalise = temperature, normalise

    def forward(self, student, teacher):
        s = student / self.t
        if self.normalise:
            s = F.log_softmax(s, dim=-1)
        return F.kl_div(s, F.softmax(teacher / self.t, dim=-1), reduction="batchmean") * self.t ** 2


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 9)
    w = torch.randn(10, 4, generator=g)
    records = []
    for _ in range(16):
        x = torch.randn(32, 10, generator=g)
        soft = 1.5 * (x @ w) + torch.relu(x[:, :4])
        records.append({"x": x, "teacher_logits": soft})
    student = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    kd = DistillLoss(2.0, fixed)

    def loss(model, batch):
        return kd(model(batch["x"]), batch["teacher_logits"])

    return {"model": student, "optimizer": torch.optim.Adam(student.parameters(), lr=3e-3), "data": records, "loss": loss}
