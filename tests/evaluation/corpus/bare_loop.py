"""A training in a plain loop, as its author would write it: nothing observed, nothing judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from pytest_trainhealth import Training
from pytest_trainhealth.training import is_one_batch


def batches_of(training: Training) -> Iterable[Any]:
    return [training.data] if is_one_batch(training.data) else training.data


def forever(batches: Iterable[Any]) -> Iterator[Any]:
    while True:
        yield from batches


def forward(training: Training, batch: Any) -> Tensor:
    """The loss of a batch, for a training without a step of its own."""
    model: Any = training.model
    with torch.autocast("cpu", training.precision) if training.precision else nullcontext():
        if training.loss is not None:
            loss: Tensor = training.loss(model, batch)
        elif training.criterion is not None:
            loss = training.criterion(model(batch[0]), batch[1])
        else:
            output = model(**batch) if isinstance(batch, dict) else model(batch)
            loss = output["loss"] if isinstance(output, dict) else output.loss
        return loss


def one_step(training: Training, batch: Any) -> float:
    if training.step is not None:
        return float(training.step(batch))
    optimizers = list(training.optimizers.values())
    seen: list[float] = []

    def closure() -> Tensor:
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = forward(training, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        seen.append(loss.item())
        return loss

    if any(isinstance(optimizer, torch.optim.LBFGS) for optimizer in optimizers):
        optimizers[0].step(closure)  # type: ignore[arg-type]
    else:
        closure()
        for optimizer in optimizers:
            optimizer.step()
    for scheduler in training.schedulers:
        scheduler.step()
    return seen[0]
