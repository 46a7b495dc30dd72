"""Every rank begins with the parameters and buffers of the first one."""

from __future__ import annotations

from contextlib import ExitStack

import torch
import torch.distributed as dist

from ...observe.run.events import Listener
from ...observe.run.run import Run


class SameStart(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run

    def run_begins(self) -> None:
        if not dist.is_initialized():
            return
        with torch.no_grad():
            for model in self._run.models.values():
                for tensor in (*model.parameters(), *model.buffers()):
                    dist.broadcast(tensor.detach(), src=0)
