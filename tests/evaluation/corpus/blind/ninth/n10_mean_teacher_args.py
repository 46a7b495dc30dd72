import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_mean_teacher_args",
        "source": "semi-supervised repos: update_ema(model, ema_model) called with its arguments in the other order",
        "roots": ["updates-lost"], "checks": [],
        "description": "The arguments of the EMA update are swapped: the teacher never follows, and the student is pulled back to the teacher's initial weights after each step.",
        "location": "train_step: ema(...)"}


def ema(target, source, momentum):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.mul_(momentum).add_(s, alpha=1 - momentum)


def make_net():
    return nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24 * 9, 4))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 24)
    proto = torch.randn(4, 1, 12, 12, generator=g)
    batches = []
    for _ in range(16):
        y = torch.randint(0, 4, (24,), generator=g)
        clean = 0.5 * proto[y] + 0.6 * torch.randn(24, 1, 12, 12, generator=g)
        batches.append({"weak": clean, "strong": clean + 0.5 * torch.randn(24, 1, 12, 12, generator=g), "label": y,
                        "has_label": torch.arange(24) < 16})
    student = make_net()
    teacher = copy.deepcopy(student).requires_grad_(False)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)

    def train_step(b):
        with torch.no_grad():
            soft = teacher(b["weak"]).softmax(1)
        out = student(b["strong"])
        sup = F.cross_entropy(out[b["has_label"]], b["label"][b["has_label"]])
        cons = F.mse_loss(out.softmax(1), soft)
        loss = sup + cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        pair = (teacher, student) if fixed else (student, teacher)
        ema(*pair, 0.9)
        return loss.item()

    return {"model": student, "optimizer": opt, "data": batches, "step": train_step}
