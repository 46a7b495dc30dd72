"""Takes a program of the corpus apart into what other tools need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from pytest_trainhealth import Training

from ..corpus.bare_loop import batches_of, forever, forward, one_step


class CannotTake(Exception):
    """The tool has no way to take such a program. Counted apart, neither for nor against the tool."""


@dataclass(frozen=True)
class Alarm:
    """An alarm of a tool. `sure` if the tool itself calls it an error rather than a warning."""

    what: str
    sure: bool
    message: str = ""


@dataclass
class Subject:
    training: Training
    model: nn.Module

    @property
    def batch(self) -> Any:
        return next(iter(batches_of(self.training)))

    @property
    def batches(self) -> Iterator[Any]:
        return forever(batches_of(self.training))

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        optimizers = list(self.training.optimizers.values())
        if len(optimizers) != 1:
            raise CannotTake(f"takes one optimizer, this has {len(optimizers)}")
        return optimizers[0]

    def loss_of(self, batch: Any) -> torch.Tensor:
        return forward(self.training, batch)

    def step(self, batch: Any) -> float:
        """The program's own step if it has one, otherwise the usual one."""
        return one_step(self.training, batch)

    def call(self) -> tuple[Any, Any, Callable[..., torch.Tensor] | None]:
        """Inputs, targets, and a loss of outputs and targets; None for what only the program's own code knows."""
        batch, training = self.batch, self.training
        if training.criterion is not None:
            return batch[0], batch[1], training.criterion
        if training.loss is None and training.step is None:
            return batch, None, None
        if isinstance(batch, (tuple, list)) and batch:
            return batch[0], None, None
        if isinstance(batch, torch.Tensor):
            return batch, None, None
        raise CannotTake("how the model is called is known to the program's own loss or step alone")


def subject_of(factory: Callable[[], Any], seed: int, *, several: bool = False) -> Subject:
    """`several`: puts several models into a `ModuleDict`, for tools that never call the model."""
    torch.manual_seed(seed)
    training = factory()
    if not isinstance(training, Training):
        raise CannotTake("a script that trains by itself: nothing to hand over")
    if isinstance(training.model, nn.Module):
        return Subject(training, training.model)
    if not several:
        raise CannotTake("takes one model, this has several")
    return Subject(training, nn.ModuleDict(dict(training.model)))
