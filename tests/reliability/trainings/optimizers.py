"""Optimizers and their schedules, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn, optim
from torch.optim import lr_scheduler as schedules

from .faults import Trip


def _groups(parameters: list[nn.Parameter]) -> optim.Optimizer:
    matrices = [p for p in parameters if p.ndim > 1]
    rest = [p for p in parameters if p.ndim <= 1]
    return optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": rest, "lr": 1e-3, "name": "rest"}], 1e-2)


class OwnOptimizer(optim.Optimizer):
    """As people write it: keeps its counts in attributes, and its averages in a list."""

    def __init__(self, parameters: list[nn.Parameter], lr: float = 0.05) -> None:
        super().__init__(parameters, {"lr": lr})
        self.taken, self.averages = 0, [torch.zeros_like(p) for p in parameters]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.taken += 1
        for group in self.param_groups:
            for p, average in zip(group["params"], self.averages, strict=False):
                if p.grad is not None:
                    average.mul_(0.9).add_(p.grad.to_dense() if p.grad.is_sparse else p.grad)
                    p.add_(average, alpha=-group["lr"])


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], optim.Optimizer]] = {
    "sgd": lambda parameters: optim.SGD(parameters, 0.05),
    "momentum": lambda parameters: optim.SGD(parameters, 0.05, momentum=0.9, nesterov=True),
    "adam": lambda parameters: optim.Adam(parameters, 1e-2, amsgrad=True),
    "adamw in groups": _groups,
    "adam in tensors": lambda parameters: optim.Adam(parameters, torch.tensor(1e-2), foreach=False, capturable=False),
    "adagrad": lambda parameters: optim.Adagrad(parameters, 1e-2),
    "rmsprop": lambda parameters: optim.RMSprop(parameters, 1e-3, momentum=0.5, centered=True),
    "lbfgs": lambda parameters: optim.LBFGS(parameters, 0.1, max_iter=2),
    "own": OwnOptimizer,
}
#: Those that take sparse gradients.
SPARSE = ("sgd", "adagrad", "own")


def _plateau(optimizer: optim.Optimizer, trip: Trip) -> Any:
    return schedules.ReduceLROnPlateau(optimizer, patience=1)


def _by_function(optimizer: optim.Optimizer, trip: Trip) -> Any:
    seen: list[int] = []

    def rate(step: int) -> float:
        if step:
            trip("schedule")
        seen.append(step)
        return 1 / (1 + step)

    return schedules.LambdaLR(optimizer, rate)


def _sequence(optimizer: optim.Optimizer, trip: Trip) -> Any:
    first, then = schedules.ConstantLR(optimizer, 0.5, 2), schedules.ExponentialLR(optimizer, 0.9)
    return schedules.SequentialLR(optimizer, [first, then], [2])


SCHEDULES: dict[str, Callable[[optim.Optimizer, Trip], Any] | None] = {
    "none": None,
    "steps": lambda optimizer, trip: schedules.StepLR(optimizer, 2, 0.5),
    "function": _by_function,
    "one cycle": lambda optimizer, trip: schedules.OneCycleLR(optimizer, 0.1, 50_000, cycle_momentum=False),
    "plateau": _plateau,
    "sequence": _sequence,
    "restarts": lambda optimizer, trip: schedules.CosineAnnealingWarmRestarts(optimizer, 3),
}
