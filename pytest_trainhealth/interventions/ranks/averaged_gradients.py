"""Gradients are averaged over the ranks before each update; or, where they were summed, divided by their number."""

from __future__ import annotations

from contextlib import ExitStack

import torch
import torch.distributed as dist
from torch.optim import Optimizer

from ...observe.run.events import Listener
from ...observe.run.run import Run


class AveragedGradients(Listener):
    def __init__(self, run: Run, stack: ExitStack, summed: bool) -> None:
        self._summed = summed

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not dist.is_initialized():
            return
        with torch.no_grad():
            for parameter in (p for group in optimizer.param_groups for p in group["params"]):
                if parameter.grad is None:
                    continue
                if not self._summed:
                    dist.all_reduce(parameter.grad)
                parameter.grad.div_(dist.get_world_size())
