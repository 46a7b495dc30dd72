"""How many threads and worker processes a training uses, and how many processors there are."""

from __future__ import annotations

import os

import torch
from torch.utils.data import DataLoader

from ...run.run import Run
from ...run.signal import Cost, Signal


class Threads(Signal):
    NAME, COST = "threads", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run

    def step_ends(self) -> None:
        if self._run.step == 0:
            speed, data = self._run.trace.speed, getattr(self._run.feed, "source", None)
            speed.threads, speed.cores = torch.get_num_threads(), _cores()
            if isinstance(data, DataLoader):  # loaders of a watched test are noticed when it reads from them
                speed.workers = data.num_workers


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
