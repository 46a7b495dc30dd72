"""Draws samples of a Normal so that gradients flow back through them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch.distributions import Normal

from ...observe.run.events import Listener
from ...observe.run.run import Run


class DrawWithGraph(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        original: Any = Normal.sample

        def sample(distribution: Normal, *args: Any, **kwargs: Any) -> Any:
            draw = distribution.rsample if torch.is_grad_enabled() else original.__get__(distribution)
            return draw(*args, **kwargs)

        Normal.sample = sample  # type: ignore[method-assign, assignment]
        stack.callback(setattr, Normal, "sample", original)
