"""Knowledge distillation: a small student learns from a trained teacher's soft outputs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_distill_kl",
    "source": "CASES.md H 'activation_issue'; own experience (F.kl_div given logits)",
    "roots": ["missing-activation-for-loss"],
    "description": "F.kl_div gets the student's raw logits instead of log-probabilities",
    "location": "step: F.kl_div(student_logits / T, ...)",
    "shows_in": "one-batch",
}

TEMPERATURE = 2.0


def mlp(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def make_data(g, n_batches=8, batch=48):
    w1 = torch.randn(16, 24, generator=g) / 4
    w2 = torch.randn(24, 5, generator=g)
    data = []
    for _ in range(n_batches):
        x = torch.randn(batch, 16, generator=g)
        data.append((x, (torch.tanh(x @ w1) @ w2).argmax(1)))
    return data


def train_teacher(data):
    teacher = mlp([16, 128, 128, 5])
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(12):
        for x, y in data:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()
    return teacher.eval()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 50)
    data = make_data(g)
    teacher = train_teacher(data)
    student = mlp([16, 64, 64, 5])
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)

    def step(batch):
        x, _ = batch
        with torch.no_grad():
            soft = F.softmax(teacher(x) / TEMPERATURE, dim=1)
        logits = student(x) / TEMPERATURE
        if fixed:
            logits = F.log_softmax(logits, dim=1)
        loss = F.kl_div(logits, soft, reduction="batchmean") * TEMPERATURE ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": student, "optimizer": optimizer, "data": data, "step": step}
