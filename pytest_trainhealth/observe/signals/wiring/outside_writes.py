"""Parameters that something other than an optimizer writes to between two updates: does it take back what they did?

An average that is copied into the wrong network, or a copy of earlier weights that is never renewed, draws the weights
to where they were when the run began: the write points exactly from where the updates have led back to the start,
whatever the size of the step. Nothing else does, because an average that follows, a projection or a bound have another
aim. A few hundred values of all parameters together tell.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ....records.verdict import Place
from ....records.wiring import OutsideWrites as Record
from ....tensors.function_modes import FunctionMode, unseen
from ...calls.functions import writes
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place
from .put_back import some_values

#: Cosine between a write and the way back to the start, from which on it leads there. By judgement: the two are the
#: same line but for rounding, and an average that has been renewed once aims elsewhere.
_SAME_WAY = 0.999
#: Updates of each optimizer that are examined. By judgement: 64, because some loops write every ten updates.
_UPDATES = 64
#: Of the values themselves: a smaller change is rounding. By judgement: float32 has seven digits.
_ROUNDING = 1e-6


class OutsideWrites(Signal):
    NAME, COST = "outside_writes", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._open: ExitStack | None = None
        self._updates: dict[str, int] = {}
        #: By optimizer: the values at its first update, after its last one, and after the last write.
        self._start: dict[str, dict[str, Tensor]] = {}
        self._left: dict[str, dict[str, Tensor]] = {}
        self._since: dict[str, dict[str, Tensor]] = {}
        self._place: Place | None = None
        #: Where the values of all parameters are, from an update to the end of its step.
        self.pointers: set[int] = set()

    def step_begins(self, batch: object) -> None:
        if self._run.step < _UPDATES:  # and not later: a mode that the user's own code leaves has to be its own
            self._open = ExitStack()
            self._open.enter_context(_Mode(self))

    @unseen
    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.pointers = set()
        label = self._run.add_optimizer(optimizer)
        number = self._updates[label] = self._updates.get(label, 0) + 1
        if number > _UPDATES or has_closure:
            return
        now = self._values(label)
        start = self._start.setdefault(label, now)
        left = self._left.get(label)
        if left is None or start.keys() != now.keys() or left.keys() != now.keys():
            self._start[label] = self._since[label] = now
            return
        record = self._run.trace.wiring.outside_writes.setdefault(label, Record())
        record.updates += 1
        if all(_same(left[name], now[name]) for name in now):
            return
        self._compare(record, label, now)
        self._since[label] = now

    def _compare(self, record: Record, label: str, now: dict[str, Tensor]) -> None:
        left, start, since = self._left[label], self._start[label], self._since[label]
        written = [name for name in now if not _same(left[name], now[name])]

        def joined(of: dict[str, Tensor], to: dict[str, Tensor]) -> Tensor:
            return torch.cat([(to[name] - of[name]).double() for name in written])

        write, way, moved = joined(left, now), joined(left, start), joined(since, left)
        record.writes += 1
        record.names.update(written)
        record.place = record.place or self._place
        if float(way.norm()) and float(torch.dot(write, way) / (write.norm() * way.norm())) > _SAME_WAY:
            record.to_the_start += 1
        if float(moved.norm()):
            record.taken.append(-float(torch.dot(write, moved) / moved.norm() ** 2))

    @unseen
    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        label = self._run.add_optimizer(optimizer)
        if self._updates.get(label, 0) > _UPDATES or has_closure:
            return
        self._left[label], self._place = self._values(label), None
        self.pointers = {p.data_ptr() for p in self._run.parameters.values() if _has_an_address(p)}

    def step_ends(self) -> None:
        self._close()

    def run_ends(self) -> None:
        self._close()
        for kept in (self._start, self._left, self._since):
            kept.clear()

    def _close(self) -> None:
        self.pointers = set()
        if self._open is not None:
            self._open.close()
            self._open = None

    def wrote(self) -> None:
        self._place = self._place or user_place()

    def _values(self, label: str) -> dict[str, Tensor]:
        run = self._run
        return {n: some_values(p) for n, p in run.parameters.items() if _has_an_address(p) and label in run.held_by(p)}


class _Mode(FunctionMode):
    """Who writes to a parameter after an update: the first argument of functions such as `copy_`."""

    def __init__(self, signal: OutsideWrites) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._signal.pointers and args and isinstance(args[0], Tensor) and writes(func):
            with self._signal._reading():
                if _has_an_address(args[0]) and args[0].data_ptr() in self._signal.pointers:
                    self._signal.wrote()
        return result


def _has_an_address(tensor: Tensor) -> bool:
    return (
        not is_lazy(tensor)
        and tensor.layout == torch.strided
        and tensor.is_floating_point()
        and type(tensor) in (Tensor, torch.nn.Parameter)
        and tensor.device.type != "meta"
    )


def _same(before: Tensor, after: Tensor) -> bool:
    if torch.equal(before, after):
        return True
    return bool(((after - before).abs() <= _ROUNDING * before.abs()).all())
