"""How much memory is in use after each step.

Objects that refer to one another stay until Python's garbage collector runs, which counts objects and does not know how
large the tensors are that they hold. That is not growth. Collecting takes longer than many a step, so it is done only
every few steps, and only if memory has grown; readings in between are interpolated between two collected ones.
"""

from __future__ import annotations

import gc

import torch

from ...run.run import Run
from ...run.signal import Cost, Signal
from .memory_reader import Reader, reader_for

#: Steps between two checks for growth; bytes that do not count as growth. 10 kB a step: our own records take less.
_EVERY, _LITTLE = 5, 50_000


class Memory(Signal):
    NAME, COST = "memory", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._reader: Reader | None = None
        self._looked = False
        self._most = 0
        #: The step of the latest reading without garbage.
        self._clean = 0

    def step_begins(self, batch: object) -> None:
        if not self._looked and self._run.parameters:  # a watched test's parameters are known from its first step on
            self._look(next(iter(self._run.parameters.values())).device)

    def _look(self, device: torch.device) -> None:
        gc.collect()  # garbage from before would hide growth when it goes
        self._looked, self._reader = True, reader_for(device)

    def step_ends(self) -> None:
        if not self._looked:
            self._look(torch.device("cpu"))
        if self._reader is None:
            return
        readings = self._run.trace.speed.memory
        readings.append(self._reader.used())
        self._most = max(self._most, readings[-1])
        if len(readings) % _EVERY == 0:
            self._take_off_garbage(self._reader, readings)

    def _take_off_garbage(self, reader: Reader, readings: list[int]) -> None:
        if readings[-1] - readings[self._clean] > _LITTLE:
            before = reader.used()
            gc.collect()
            garbage = before - reader.used()
            if garbage > _LITTLE:
                readings[self._clean :] = _line(readings[self._clean :], readings[-1] - garbage)
        self._clean = len(readings) - 1

    def run_ends(self) -> None:
        reader, self._reader = self._reader, None
        if reader is None:
            return
        speed = self._run.trace.speed
        if speed.memory:
            self._take_off_garbage(reader, speed.memory)
            speed.peak_memory = self._most if reader.most is None else reader.most()
        reader.close()


def _line(readings: list[int], last: int) -> list[int]:
    """A straight line from the first reading to `last`, with the same number of steps."""
    first, steps = readings[0], len(readings) - 1
    return [first + (last - first) * step // steps for step in range(steps + 1)]
