"""What a step with a suspicious batch comes to: a value that is not finite may be meant as a missing one."""

from __future__ import annotations

from contextlib import ExitStack
from math import isfinite
from typing import Any

import torch

from ....records.error_words import words_of
from ....tensors.batches import map_tensors
from ....tensors.function_modes import FunctionMode
from ...calls.torch_calls import Call, function_name
from ...run.run import Run
from .field_roles import given_target


class _Labels(FunctionMode):
    """Counts the labels that loss functions are given and do not allow."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = 0

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        given = given_target(Call(function_name(func), func, args, kwargs or {}, "")) if args else None
        if given is not None and given.about_classes:
            with torch._C.DisableTorchFunction():
                self.outside += int(given.outside(given.target).sum())
        return func(*args, **(kwargs or {}))


def step_with(run: Run, batch: Any) -> tuple[str, int] | None:
    """What is wrong with it, or nothing; and how many labels its loss does not allow. None if it cannot be tried.

    The last that a run does: the step may ruin the model.
    """
    before = run.trace
    if run.take_step is None or before.crash is not None or not before.finite or not before.loss_connected:
        return None
    copies = map_tensors(lambda _, tensor: tensor.detach().clone(), batch)
    with ExitStack() as stack:
        labels = stack.enter_context(_Labels())
        try:
            loss = run.take_step(copies)
        except Exception as error:
            raised = words_of(error).partition("\n")[0]
            return f"raises {type(error).__name__}: {raised}", labels.outside
    if not isfinite(loss):
        return f"gives a loss of {loss}", labels.outside
    bad = [name for name, each in run.parameters.items() if not bool(torch.isfinite(each.detach()).all())]
    return (f"leaves {bad[0]} not finite" if bad else ""), labels.outside
