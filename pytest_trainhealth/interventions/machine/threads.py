"""Another number of threads."""

from __future__ import annotations

from contextlib import ExitStack

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Threads(Listener):
    """Takes effect when the first step begins: the training may set the number while it is being built."""

    def __init__(self, run: Run, stack: ExitStack, count: int = 1) -> None:
        self._run, self._count = run, count
        stack.callback(torch.set_num_threads, torch.get_num_threads())

    def step_begins(self, batch: object) -> None:
        if self._run.step == 0:
            torch.set_num_threads(self._count)
