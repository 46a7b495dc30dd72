"""How a step spends its time: transfer to the device, forward, backward, optimizer, and the rest.

An accelerator is still working when Python has already moved on, so a phase ends when the device has finished it.
Waiting for that at every step would slow the training down: on accelerators only one step in four is split into phases,
and the others run as they are.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ....records.speed import Phases
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Steps between two that are split: waiting for the device at each would slow it down. By judgement one in 4 is enough
#: for a median.
_EVERY_ON_ACCELERATORS = 4
#: The phase after a backward pass: another forward pass if a backward pass follows, part of the rest if an update does.
_OPEN = "open"
_MOVES = ("to", "cuda")


class StepPhases(Signal):
    NAME, COST = "phases", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._phases: Phases | None = None
        self._doing, self._since = _OPEN, 0.0
        self._in_closure = False
        self._before_clearing = _OPEN
        self._accelerated = torch.accelerator.is_available()
        self._patched = ExitStack()

    def run_begins(self) -> None:
        for name in _MOVES if self._accelerated else ():
            setattr(Tensor, name, self._seen(getattr(Tensor, name)))
            self._patched.callback(delattr, Tensor, name)  # the method of the base class applies again

    def run_ends(self) -> None:
        self._patched.close()

    def step_begins(self, batch: object) -> None:
        wanted = not self._accelerated or self._run.step % _EVERY_ON_ACCELERATORS == 0
        # a watched step that is first noticed at its backward pass has no batch
        self._phases = Phases() if wanted and batch is not None else None
        if self._phases is None:
            return
        self._in_closure = False
        self._doing, self._since = "forward", time.perf_counter()
        if self._accelerated:
            self._phases.transfer = 0.0 if self._run.feed is None else self._run.feed.moving
            self._doing = "transfer"  # until the device has it
            self._turn_to("forward")

    def gradients_clearing(self, holder: Any) -> None:
        self._before_clearing = self._doing
        self._turn_to("optimizer")

    def gradients_cleared(self, holder: Any) -> None:
        self._turn_to(self._before_clearing)

    def backward_begins(self, roots: list[Tensor]) -> None:
        if self._doing == _OPEN or self._in_closure:
            self._doing = "forward"
        self._turn_to("backward")

    def backward_ends(self) -> None:
        self._turn_to("optimizer" if self._in_closure else _OPEN)

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._in_closure = has_closure
        self._turn_to("optimizer")

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._in_closure = False
        self._turn_to(_OPEN)

    def step_ends(self) -> None:
        if self._phases is not None:
            self._turn_to(_OPEN)
            self._run.trace.speed.phases[self._run.step] = self._phases
            self._phases = None

    def _turn_to(self, phase: str) -> None:
        """Ends the current phase and begins another."""
        phases = self._phases
        if phases is None:
            return
        now = self._now() if self._accelerated else time.perf_counter()
        if self._doing != _OPEN:
            setattr(phases, self._doing, getattr(phases, self._doing) + now - self._since)
        self._doing, self._since = phase, now

    def _now(self) -> float:
        """The time once the accelerator has finished."""
        began = time.perf_counter()
        torch.accelerator.synchronize()
        ended = time.perf_counter()
        self._run.trace.speed.overhead -= ended - began  # this wait is the training's own work
        return ended

    def _seen(self, move: Any) -> Any:
        """When the user's own step moves a batch, that counts as transfer, wherever in the step it happens."""

        def moved(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            phases = self._phases
            if phases is None:
                return move(tensor, *args, **kwargs)
            began = time.perf_counter()
            result = move(tensor, *args, **kwargs)
            if result.device.type != tensor.device.type:
                took = self._now() - began
                phases.transfer += took
                self._since += took
            return result

        return moved
