"""A frozen teacher has to be in eval mode; frozen features, averaged copies and target networks may be as they like."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth import Training
from pytest_trainhealth.engine.request import Request
from pytest_trainhealth.examine import examine


def net(width: int, p: float = 0.0) -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, 4))


def distilling(teacher: nn.Module, *, inside: bool = True, features: bool = False, moves: bool = False) -> Training:
    student, head = net(16), nn.Linear(4, 4)
    model = nn.ModuleDict({"student": student, "head": head, **({"teacher": teacher} if inside else {})})
    optimizer = torch.optim.Adam([*student.parameters(), *head.parameters()], 1e-3)

    def step(x: Tensor) -> Tensor:
        with torch.no_grad():
            given = teacher(x)
        if features:  # what the teacher says is worked on, beside what the student says
            loss = F.mse_loss(head(given + student(x)), x[:, :4])
        else:
            loss = F.mse_loss(head(student(x)), given.softmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for p in teacher.parameters() if moves else ():
            p.data.mul_(0.99)
        return loss

    return Training(model, optimizer, step=step, data=list(torch.randn(64, 8).split(16)))


def frozen(teacher: nn.Module) -> nn.Module:
    return teacher.requires_grad_(False)


def found(make: Callable[[], Training]) -> list[tuple[str, str]]:
    verdict = examine(make, Request("gradients_flow", "loop", 0, {}))
    assert verdict.failed is bool(verdict.findings)
    return [(finding.cause, finding.certainty) for finding in verdict.findings]


@pytest.mark.parametrize(("inside", "certainty"), [(True, "confirmed"), (False, "likely")])
def test_a_teacher_left_in_training_mode(inside: bool, certainty: str) -> None:
    assert found(lambda: distilling(frozen(net(32, 0.5)), inside=inside)) == [("wrong-mode", certainty)]


HEALTHY: dict[str, Callable[[], Training]] = {
    "in eval mode": lambda: distilling(frozen(net(32, 0.5)).eval()),
    "without dropout": lambda: distilling(frozen(net(32))),
    "features": lambda: distilling(frozen(net(32, 0.5)), features=True),
    "an averaged teacher": lambda: distilling(frozen(net(32, 0.5)), moves=True),
    "built like the student": lambda: distilling(frozen(net(16, 0.5))),
}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY)
def test_dropout_that_may_be_meant(make: Callable[[], Training]) -> None:
    assert found(make) == []


def test_a_model_handed_in_in_eval_mode_is_switched_by_the_loop() -> None:
    class Distiller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.student, self.teacher = net(16), frozen(net(32, 0.5))

    def loss(model: Distiller, x: Tensor) -> Tensor:
        return F.mse_loss(model.student(x), model.teacher(x))

    def make() -> Training:
        model = Distiller().eval()
        optimizer = torch.optim.Adam(model.student.parameters(), 1e-3)
        return Training(model, optimizer, loss, list(torch.randn(64, 8).split(16)))

    assert found(make) == []


class Normed(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, width, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        self.leave = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.leave(self.body(x))


class Distiller(nn.Module):
    """The teacher is put into eval mode when it is handed in, and follows every train() unless it is kept there."""

    def __init__(self, teacher: nn.Module, student: nn.Module, keeps: bool) -> None:
        super().__init__()
        self.teacher, self.student, self.keeps = frozen(teacher).eval(), student, keeps

    def train(self, mode: bool = True) -> Distiller:
        super().train(mode)
        if self.keeps:
            self.teacher.eval()
        return self


def followed(teacher: nn.Module, student: nn.Module, keeps: bool = False) -> Training:
    teacher(torch.randn(32, 8))  # its statistics are those of its own training
    model = Distiller(teacher, student, keeps)
    optimizer = torch.optim.Adam(student.parameters(), 1e-3)

    def step(x: Tensor) -> Tensor:
        model.train()
        loss = F.mse_loss(model.student(x), model.teacher(x).softmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Training(model, optimizer, step=step, data=list(torch.randn(64, 8).split(16)))


def test_a_teacher_in_eval_mode_follows_the_train_of_a_loop_of_the_users_own() -> None:
    assert found(lambda: followed(net(32, 0.5), net(16))) == [("wrong-mode", "confirmed")]
    assert found(lambda: followed(net(32, 0.5), net(16), keeps=True)) == []


def test_statistics_of_a_teacher_that_is_wider_than_its_student_of_the_same_class() -> None:
    assert found(lambda: followed(Normed(32), Normed(16))) == [("frozen-parameters-change", "confirmed")]
    assert found(lambda: followed(Normed(32), Normed(16), keeps=True)) == []
    assert found(lambda: followed(Normed(16), Normed(16))) == []  # it may be a target network
