"""Backward passes whose gradients are cleared before any optimizer has used them.

A pass is used when an optimizer that holds some of the parameters it reached steps (or is skipped by a loss scaler), or
when the code reads their gradients itself. What a generator's pass leaves in its critic may be cleared: the pass was
used by the generator.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.amp import grad_scaler
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from ....records.verdict import Place
from ....records.wiring import UnusedPasses as Unused
from ....tensors.function_modes import FunctionMode, unseen
from ...calls.grad_reads import reader, reads_grad
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

#: Updates of each optimizer that are examined. By judgement: two that agree are enough (analysis/wiring.py), and the
#: gradients are watched only after the first.
_UPDATES = 4
#: Whoever only clips or unscales gradients has not used them.
_NO_USE = (clip_grad.__file__, grad_scaler.__file__)


@dataclass
class _Pass:
    place: Place | None
    reached: dict[int, Optimizer]
    used: bool = False


class UnusedPasses(Signal):
    NAME, COST = "unused_passes", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: list[_Pass] = []
        self._cleared: list[tuple[_Pass, Place | None]] = []
        self._before: dict[int, tuple[Any, ...]] = {}
        self._updates: dict[int, int] = {}
        self._updating = self._clearing = self._suspicious = False
        self._mode: ExitStack | None = None

    def step_begins(self, batch: object) -> None:
        self.step_ends()  # of a step that did not end: in a watched loop that broke off, for example
        # only a loop that has cleared a pass has to be watched for what it does with the gradients
        if self._suspicious and self._looks:
            self._mode = ExitStack()
            self._mode.enter_context(_Reads(self))

    def step_ends(self) -> None:
        if self._mode is not None:
            self._mode.close()
            self._mode = None

    def run_ends(self) -> None:
        self.step_ends()

    def backward_begins(self, roots: object) -> None:
        if self._updating or not self._looks:
            return
        self._settle()
        self._before = {id(o): _versions(o) for o in self._run.optimizers.values()}

    def backward_ends(self) -> None:
        if self._updating or not self._looks:
            return
        optimizers = self._run.optimizers.values()
        reached = {id(o): o for o in optimizers if self._before.get(id(o)) != _versions(o)}
        if reached:
            self._open.append(_Pass(user_place(), reached, used=any(map(_has_hooks, reached.values()))))

    def gradients_clearing(self, holder: object) -> None:
        self._clearing = True

    def gradients_cleared(self, holder: object) -> None:
        self._clearing = False
        if not self._updating and self._looks:
            self._settle()

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updating = True
        if not has_closure and self._looks:
            self._note(optimizer)

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._updating = False
        self._use(optimizer)
        self._updates[id(optimizer)] = self._updates.get(id(optimizer), 0) + 1

    def update_skipped(self, optimizer: Optimizer) -> None:
        self._use(optimizer)

    def grad_read(self) -> None:
        frame = reader()
        if self._run.emitting or self._clearing or frame is None or frame.f_code.co_filename in _NO_USE:
            return
        for each in self._open:
            each.used = True

    @property
    def _looks(self) -> bool:
        return not self._updates or min(self._updates.values()) < _UPDATES

    def _use(self, optimizer: Optimizer) -> None:
        for each in self._open:
            each.used = each.used or id(optimizer) in each.reached

    def _settle(self) -> None:
        """Passes of which nothing is left are over: used, or cleared."""
        left = []
        for each in self._open:
            if not all(map(_is_empty, each.reached.values())):
                left.append(each)
            elif not each.used:
                self._cleared.append((each, user_place()))
                self._suspicious = True
        self._open = left

    def _note(self, optimizer: Optimizer) -> None:
        """How many passes were cleared since its last update, from the lines of those that it uses now."""
        self._settle()
        lost = [(each, place) for each, place in self._cleared if id(optimizer) in each.reached]
        self._cleared = [pair for pair in self._cleared if pair not in lost]
        kept = [each for each in self._open if id(optimizer) in each.reached and not each.used]
        lines = {each.place for each in kept}
        same = [pair for pair in lost if not lines or pair[0].place in lines]
        empty = _is_empty(optimizer)
        label = self._run.add_optimizer(optimizer)
        record = self._run.trace.wiring.unused_passes.setdefault(label, Unused(label))
        record.cleared.append(len(same) if kept or empty else 0)
        record.used.append(0 if empty else len(kept))
        others = [pair for pair in lost if pair not in same]
        record.elsewhere.append(len(others))
        same = same or others
        if same:
            record.place, record.cleared_at = same[-1][0].place, same[-1][1] or record.cleared_at


class _Reads(FunctionMode):
    """Sees who reads `.grad`."""

    def __init__(self, signal: UnusedPasses) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if reads_grad(func):
            with self._signal._reading():
                self._signal.grad_read()
        return func(*args, **(kwargs or {}))


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


@unseen
def _versions(optimizer: Optimizer) -> tuple[Any, ...]:
    return tuple(None if p.grad is None else (id(p.grad), p.grad._version) for p in _parameters(optimizer))


@unseen
def _is_empty(optimizer: Optimizer) -> bool:
    return all(p.grad is None or (not p.grad.is_sparse and not p.grad.any()) for p in _parameters(optimizer))


@unseen
def _has_hooks(optimizer: Optimizer) -> bool:
    """Somebody is given the gradients as they come."""
    return any(p._backward_hooks or p._post_accumulate_grad_hooks for p in _parameters(optimizer))
