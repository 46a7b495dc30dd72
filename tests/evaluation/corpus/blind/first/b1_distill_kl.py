"""Distilling a wide teacher MLP into a narrow student."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_distill_kl",
    "source": "PyTorch forum classic: KLDivLoss expects log-probabilities as input",
    "roots": ["missing-activation-for-loss"],
    "description": "F.kl_div gets the student's softmax instead of its log_softmax",
    "location": "distill_loss: first argument of F.kl_div",
    "shows_in": "one-batch",
}


def mlp(sizes, act=nn.GELU):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(act())
    return nn.Sequential(*layers)


def pretrain_teacher(x, y, n_in, n_classes):
    teacher = mlp([n_in, 128, n_classes])
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(60):
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
    return copy.deepcopy(teacher).eval().requires_grad_(False)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_in, n_classes, bs = 20, 8, 64
    centers = torch.randn(n_classes, n_in) * 1.2
    y = torch.randint(0, n_classes, (8 * bs,))
    x = centers[y] + torch.randn(8 * bs, n_in)
    teacher = pretrain_teacher(x, y, n_in, n_classes)
    student = mlp([n_in, 48, 48, n_classes])
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3, weight_decay=1e-4)
    data = list(x.split(bs))
    T = 2.0

    def distill_loss(model, inputs):
        with torch.no_grad():
            target = F.softmax(teacher(inputs) / T, dim=-1)
        scores = model(inputs) / T
        if fixed:
            scores = F.log_softmax(scores, dim=-1)
        else:
            scores = F.softmax(scores, dim=-1)
        return F.kl_div(scores, target, reduction="batchmean") * T * T

    return {"model": student, "optimizer": optimizer, "data": data, "loss": distill_loss}
