"""A loop that can be run bare, watched, or handed in step by step; and what it leaves, in a form that is compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pytest_trainhealth.tensors.fingerprint import NoFingerprint, fingerprint

Program = Callable[[], "Loop"]


@dataclasses.dataclass
class Loop:
    """`noted`: what the program wants compared besides its losses and the states of its model and optimizer."""

    model: Any
    optimizer: Any
    step: Callable[[Any], Any]
    data: Any
    noted: list[Any] = dataclasses.field(default_factory=list)
    close: Callable[[], None] = lambda: None

    @property
    def steps(self) -> int:
        try:
            return len(self.data)
        except TypeError:  # a stream
            return 4

    def run(self) -> list[Any]:
        return [self.step(batch) for batch in self.data]

    def left(self) -> Any:
        """Everything that it leaves behind."""
        states = [each.state_dict() for each in (self.model, self.optimizer) if hasattr(each, "state_dict")]
        modes = [each.training for each in self.model.modules()] if isinstance(self.model, nn.Module) else []
        return comparable([states, modes, self.noted])


def program(function: Callable[[], Loop]) -> Program:
    """Marks a function as a program of the list."""
    function.trains = True  # type: ignore[attr-defined]
    return function


def comparable(value: Any) -> Any:
    """Text and numbers that are equal if and only if the values are, bit by bit."""
    if isinstance(value, Tensor):
        facts = (type(value).__name__, str(value.dtype), str(value.layout), value.requires_grad, value.is_leaf)
        try:
            values: Any = fingerprint(value)
        except Exception as error:  # of a kind that has no values to compare
            values = type(error).__name__
        hooks = len(value._backward_hooks or ()), len(getattr(value, "_post_accumulate_grad_hooks", None) or ())
        return ("tensor", *facts, values, hooks)
    if isinstance(value, nn.Module):
        hooks = [
            (len(each._forward_hooks), len(each._forward_pre_hooks), len(each._backward_hooks), sorted(vars(each)))
            for each in value.modules()
        ]
        kinds = [type(each).__name__ for each in value.modules()]
        return ("module", kinds, hooks, comparable(value.state_dict()))
    if isinstance(value, Mapping):
        return [(str(key), comparable(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [comparable(each) for each in value]
    if isinstance(value, BaseException):
        return (type(value).__name__, str(value))
    if isinstance(value, type):
        return value.__name__
    try:
        return fingerprint(value), repr(value)
    except NoFingerprint:
        return repr(type(value))


def batches(count: int = 6, size: int = 8) -> list[tuple[Tensor, Tensor]]:
    """Six numbers a sample, in three classes that can be told apart."""
    centres = torch.randn(3, 6) * 2
    found = []
    for _ in range(count):
        labels = torch.randint(0, 3, (size,))
        found.append((centres[labels] + torch.randn(size, 6), labels))
    return found


class Classifier(nn.Module):
    """On the module's own level, so that it can be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.body(x))
        return out


def classifier() -> tuple[Classifier, torch.optim.Optimizer]:
    model = Classifier()
    return model, torch.optim.Adam(model.parameters(), 1e-2)


def learns(model: Any, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The step that everybody writes."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(batch[0]), batch[1])
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def also(does: Callable[[Any, torch.optim.Optimizer, tuple[Tensor, Tensor]], Any]) -> Loop:
    """The usual step, and then something else, whose result or exception is compared."""
    model, optimizer = classifier()
    noted: list[Any] = []

    def step(batch: tuple[Tensor, Tensor]) -> Tensor:
        loss = learns(model, optimizer, batch)
        try:
            noted.append(comparable(does(model, optimizer, batch)))
        except Exception as error:
            noted.append(comparable(error))
        return loss

    return Loop(model, optimizer, step, batches(), noted)
