"""Draws samples of a Normal so that gradients flow back through them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Normal

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.function_modes import FunctionMode


class DrawWithGraph(FunctionMode, Listener):
    """Both function mode, for `torch.normal()`, and listener."""

    def __init__(self, run: Run, stack: ExitStack) -> None:
        super().__init__()
        stack.enter_context(self)
        original: Any = Normal.sample

        def sample(distribution: Normal, *args: Any, **kwargs: Any) -> Any:
            draw = distribution.rsample if torch.is_grad_enabled() else original.__get__(distribution)
            return draw(*args, **kwargs)

        Normal.sample = sample  # type: ignore[method-assign, assignment]
        stack.callback(setattr, Normal, "sample", original)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        drawn = func(*args, **(kwargs or {}))
        if func is not torch.normal or not torch.is_grad_enabled() or not _is_given(args):
            return drawn
        mean, deviation = (each.detach() if isinstance(each, Tensor) else each for each in args)
        return args[0] + args[1] * ((drawn.detach() - mean) / deviation)


def _is_given(args: tuple[Any, ...]) -> bool:
    """A mean and a deviation, one of which has a graph."""
    return len(args) == 2 and any(isinstance(each, Tensor) and each.requires_grad for each in args)
