"""How close the arguments of the user's own operations come to where these are not finite; at a few steps.

A cosine drifts towards 1, a distance towards 0, an exponent towards 88: nothing is wrong until it gets there, and that
may take more steps than a check has.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from ....records.numbers import NearDanger as NearDangerRecord
from ....tensors.function_modes import FunctionMode
from ...calls.compiled import compiled_graphs, is_compiled
from ...calls.danger_zones import NOT_HANDLED, danger_zone, spoken
from ...calls.torch_calls import Call
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Steps looked at: 2, 8, 32, ... By judgement: a run of 50 steps pays for three looks, which costs it less than 1 %.
_FIRST, _TIMES = 2, 4
#: Calls of one line in one step. By judgement: a line inside a loop; its first 8 calls stand for the others.
_MOST_CALLS = 8
#: Lines. By judgement: nobody has more than 64 such operations, and a generated program must not fill the memory.
_MOST_LINES = 64


def is_look(step: int) -> bool:
    while step > _FIRST and step % _TIMES == 0:
        step //= _TIMES
    return step == _FIRST


class NearDanger(Signal):
    """Every run has it, so it only sees forward passes, and looks no further than the name of most functions.

    Not in a watched test, which cannot be made to go on; nor in a compiled model, which would be compiled again.
    """

    NAME, COST = "near_danger", Cost.ALWAYS

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._calls: dict[str, int] = {}
        self._open: ExitStack | None = None
        self._compiled = 0

    def step_begins(self, batch: object) -> None:
        if not self._run.step:
            self._compiled = compiled_graphs()
        if is_look(self._run.step) and self._run.feed is not None and not self._is_compiled():
            self._calls.clear()
            self._open = ExitStack()
            self._open.enter_context(_ForwardPass(self))

    def backward_begins(self, roots: object) -> None:
        self.run_ends()

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _is_compiled(self) -> bool:
        """Or its loss is, as far as the first steps of this run show it."""
        if compiled_graphs() > self._compiled:
            return True
        return any(is_compiled(module) for _, module in self._run.named_modules())

    def _note(self, call: Call) -> None:
        zone, place = danger_zone(call), user_place()
        if zone is None or place is None or not isinstance(call.result, Tensor) or not call.result.requires_grad:
            return
        line, known = f"{call.name} {place}", self._run.trace.numbers.near_dangers
        self._calls[line] = self._calls.get(line, 0) + 1
        if self._calls[line] > _MOST_CALLS or (line not in known and len(known) >= _MOST_LINES):
            return
        with torch.no_grad():
            gap = zone.gap(call)
            if gap is None or not gap.numel():
                return
            nearest = float(gap.min())
        record = known.setdefault(line, NearDangerRecord(spoken(call.name), place, evenly=zone.evenly))
        record.gaps[self._run.step] = min(nearest, record.gaps.get(self._run.step, nearest))


class _ForwardPass(FunctionMode):
    def __init__(self, signal: NearDanger) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        # inside vmap and similar transforms a tensor stands for many, and has no values that can be read
        if name in NOT_HANDLED and args and isinstance(args[0], Tensor) and not is_functorch_wrapped_tensor(args[0]):
            with self._signal._reading(), torch._C.DisableTorchFunction():
                self._signal._note(Call(name, func, args, kwargs or {}, "", result))
        return result
