"""Loops in which clipping has no effect, and those that come closest and are as they should be."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from ..loops import Batch, Loop, mlp, pictures


def sequences(batches: int = 8, size: int = 8, length: int = 12) -> list[Batch]:
    """Sums that run on, to be continued by one step."""
    found = []
    for _ in range(batches):
        x = torch.randn(size, length, 3).cumsum(1)
        found.append((x[:, :-1], x[:, 1:].mean(2, keepdim=True)))
    return found


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 24, batch_first=True), nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.rnn(x)[0])


def at_the_wrong_time(fault: str) -> Loop:
    """A recurrent net, clipped at 0.5."""
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), 2e-3)

    def step(batch: Batch) -> Tensor:
        loss = F.mse_loss(model(batch[0]), batch[1])
        optimizer.zero_grad()
        if fault == "before backward":
            clip_grad_norm_(model.parameters(), 0.5)
        loss.backward()
        if fault in ("none", "measured after the step"):
            clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if fault == "after the step":
            clip_grad_norm_(model.parameters(), 0.5)
        if fault == "values after the step":
            clip_grad_value_(model.parameters(), 0.01)
        if fault == "measured after the step":
            clip_grad_norm_(model.parameters(), float("inf"))
        return loss

    return Loop({"model": model}, {"rmsprop": optimizer}, step, sequences())


def while_scaled(fault: str) -> Loop:
    model = mlp(12, 48, 48, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)

    def step(batch: Batch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        if fault == "none":
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return Loop({"model": model}, {"sgd": optimizer}, step, pictures())


class Shared(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, width, 3, padding=1), nn.GELU())
        self.blocks = nn.ModuleList(nn.Conv1d(width, width, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(x.unsqueeze(1))
        for block in self.blocks:
            x = x + F.gelu(block(x))
        return self.head(x.mean(2))


def other_parameters(fault: str) -> Loop:
    """A student that is taught by a teacher; the list to clip is made once, or taken from the wrong one."""
    student, teacher = Shared(16, 2), Shared(16, 2)
    teacher.requires_grad_(fault == "another model")
    clipped = list(student.parameters())
    if fault == "replaced":
        student = Shared(16, 2)
    optimizer = torch.optim.Adam(student.parameters(), 3e-3)

    def step(batch: Batch) -> Tensor:
        with torch.no_grad():
            wanted = teacher(batch[0])
        made = student(batch[0])
        loss = F.cross_entropy(made, batch[1]) + 0.1 * F.mse_loss(made, wanted)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(teacher.parameters() if fault == "another model" else clipped, 1.0)
        optimizer.step()
        return loss

    return Loop({"student": student, "teacher": teacher}, {"adam": optimizer}, step, pictures())


PAIRS = {
    at_the_wrong_time: (
        "none",
        "measured after the step",
        "before backward",
        "after the step",
        "values after the step",
    ),
    while_scaled: ("none", "scaled"),
    other_parameters: ("none", "another model", "replaced"),
}
