"""What happens to gradients between backward() and the update, and between the update and zero_grad().

Also whether torch's clipping functions find any gradients: their reads of `.grad` show what they were given.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from ....records.verdict import Place
from ....records.wiring import ClipCalls, GradientPath
from ....tensors.function_modes import FunctionMode, inside_transform, unseen
from ....tensors.norms import norms
from ...calls.clip_aims import ClipAims
from ...calls.cut_gradients import cut_on_one_side
from ...calls.functions import UNSCALE, writes
from ...calls.grad_reads import reader, reads_grad
from ...calls.gradient_owners import GradientOwners, sets_grad
from ...calls.own_scaling import OwnScaling
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place


class Clipping(Signal):
    NAME, COST = "clipping", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: ExitStack | None = None
        #: Between a backward pass and an update, and after the update: who writes into gradients then?
        self.watching = False
        self._owners: GradientOwners | None = None
        self._after_backward: dict[int, float] = {}
        self._scale: dict[int, float] = {}
        #: The line that last wrote into gradients since backward(), and whether a loss scaler unscaled them after that.
        self._place: Place | None = None
        self._scaled = self._by_hand = False
        #: Factors that the loop itself takes out, and the parameters whose gradients something wrote into before that.
        self._own_scaling = OwnScaling()
        self._written: set[int] = set()
        self._paths: list[tuple[GradientPath, Optimizer]] = []
        #: Lines that clip in this step, and whether they found gradients to clip.
        self._clips: dict[Place, bool] = {}
        #: Parameters whose gradients an optimizer has used since backward(), and lines that have clipped only such
        #: ones, or others as well.
        self._used: set[int] = set()
        self._late: dict[Place, bool] = {}
        #: What lines clip in this step; and the sizes of it at the look before, if no optimizer held any of it.
        self._given: dict[Place, dict[int, Tensor]] = {}
        self._sizes: dict[Place, list[float]] = {}
        self._aims = ClipAims(self._aim_settled)

    def step_begins(self, batch: object) -> None:
        if self._run.sampled:
            self._open = ExitStack()
            self._open.enter_context(_Mode(self))

    def step_ends(self) -> None:
        self._look_again()
        for place, found in self._clips.items():
            record = self._run.trace.wiring.clip_calls[str(place)]
            record.looks, record.found = record.looks + 1, record.found + found
            sizes = self._sizes_of_unheld(self._given.get(place, {}))
            record.unheld += bool(sizes) and self._sizes.get(place) == sizes
            self._sizes[place] = sizes
        self._clips.clear()
        self._given.clear()
        self.run_ends()

    def _sizes_of_unheld(self, given: dict[int, Tensor]) -> list[float]:
        """None if an optimizer holds any of them: then the line is about this training."""
        held = {id(p) for o in self._run.optimizers.values() for group in o.param_groups for p in group["params"]}
        return norms(list(given.values())) if held.isdisjoint(given) else []

    def run_ends(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        self.watching = False

    def backward_begins(self, roots: list[Tensor]) -> None:
        self._look_again()
        if self._open is not None:
            self._own_scaling.pass_begins(roots)
        self.watching = False
        self._used.clear()
        self._late.clear()
        self._aims.pass_begins()

    def backward_ends(self) -> None:
        if self._open is None:
            return
        held = [p for o in self._run.optimizers.values() for p in _held(o)]
        self._after_backward = dict(zip(map(id, held), norms(_grads(held)), strict=True))
        self._scale.clear()
        self._written.clear()
        self._owners = None
        self._place, self._scaled, self._by_hand, self.watching = None, False, False, True

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        self.watching = False
        held = [p for p in _held(optimizer) if id(p) in self._after_backward]
        if self._open is None or has_closure or not held:
            return
        before = [self._after_backward.pop(id(p)) * self._scale.get(id(p), 1.0) for p in held]
        total, left = math.hypot(*before), math.hypot(*norms(_grads(held)))
        if math.isfinite(total) and math.isfinite(left):
            label = self._run.add_optimizer(optimizer)
            by_hand = self._scaled and self._by_hand
            path = GradientPath(self._run.step, label, total, left, self._place, self._scaled, by_hand)
            path.cut_at = None if self._place is None else cut_on_one_side(_grads(held))
            self._run.trace.wiring.gradient_paths.append(path)
            self._paths.append((path, optimizer))

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        self._place, self.watching, self._owners = None, self._open is not None, None
        used = set(map(id, _held(optimizer)))
        self._used.update(used)  # also at steps that are not looked at: the next one may clip what this one has left
        self._aims.used(used, self._open is not None)

    def gradients_clearing(self, holder: object) -> None:
        self._look_again()
        self._aims.cleared(_ids(holder))
        for place, late in self._late.items():
            self._run.trace.wiring.clip_calls[str(place)].late += late
        self._late.clear()

    def _look_again(self) -> None:
        """Before the gradients are cleared: did any code write into them after the optimizer used them?"""
        for path, optimizer in self._paths:
            if self._place is not None:
                path.left, path.changed_later_at = math.hypot(*norms(_grads(_held(optimizer)))), self._place
        self._paths.clear()

    def clips(self, parameter: Tensor, grad: Tensor | None, limits: dict[str, Any]) -> None:
        """A clipping function has read the gradient of this parameter."""
        limit = limits.get("max_norm", limits.get("clip_value"))
        place = user_place()
        if not isinstance(limit, (int, float)) or math.isinf(limit) or not parameter.requires_grad:
            return  # an infinite limit is a way to measure the norm
        if place is None:  # the loop is a framework's
            if grad is not None and id(parameter) not in self._used:
                wiring = self._run.trace.wiring
                wiring.clipped_by_loop = min(limit, wiring.clipped_by_loop or limit)
            return
        by_norm = "max_norm" in limits
        self._run.trace.wiring.clip_calls.setdefault(str(place), ClipCalls(place, float(limit), by_norm))
        self._clips[place] = self._clips.get(place, False) or (grad is not None and bool(grad.any()))
        self._aims.clipped(place, id(parameter), grad is not None and bool(grad.any()))
        if grad is not None:
            self._given.setdefault(place, {})[id(parameter)] = parameter
            self._late[place] = self._late.get(place, True) and id(parameter) in self._used

    def _aim_settled(self, place: Place, used: bool) -> None:
        record = self._run.trace.wiring.clip_calls[str(place)]
        record.used, record.aside = record.used + used, record.aside + (not used)

    def exchanged(self, parameter: Tensor, grad: object, before: Tensor | None) -> None:
        if self._owners is not None:
            self._owners.exchanged(parameter, grad)
        new = isinstance(grad, Tensor) and before is not None and grad.data_ptr() != before.data_ptr()
        if new and self.watching and id(parameter) in self._after_backward:
            old_norm, new_norm = norms([before, grad])  # type: ignore[list-item]
            factor = self._own_scaling.removed_between(old_norm, new_norm)
            if factor is not None:
                self._unscaled_by_hand([id(parameter)], factor)

    def seen(self, name: str, written: list[Tensor], args: tuple[Any, ...]) -> None:
        if inside_transform():
            return
        if self._owners is None:
            self._owners = GradientOwners(p for o in self._run.optimizers.values() for p in _held(o))
        ours = self._owners.of(written)
        if not ours:
            return
        if name == UNSCALE:
            self._scale.update(dict.fromkeys(ours, float(args[2])))
            self._scaled = self._place is not None
        elif (factor := self._own_scaling.removed_by(name, args)) is not None:
            self._unscaled_by_hand(ours, factor)
        else:
            self._place = user_place()
            self._written.update(ours)

    def _unscaled_by_hand(self, ours: list[int], factor: float) -> None:
        """Parameter by parameter: each may be unscaled and clipped before the next one is."""
        self._scale.update(dict.fromkeys(ours, 1 / factor))
        self._scaled, self._by_hand = self._scaled or not self._written.isdisjoint(ours), True


class _Mode(FunctionMode):
    """Sees which tensors are written into: the first argument of functions such as `mul_` and `_foreach_mul_`."""

    def __init__(self, signal: Clipping) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        before = None
        if self._signal.watching and sets_grad(func):
            with self._signal._reading():
                before = _grad(args[0])
        result = func(*args, **(kwargs or {}))
        if reads_grad(func):
            limits = _limits()
            if limits is not None:
                with self._signal._reading():
                    self._signal.clips(args[0], result, limits)
        elif sets_grad(func):
            with self._signal._reading():
                self._signal.exchanged(args[0], args[1], before)
        elif self._signal.watching and args and writes(func):
            first = args[0]
            written = [first] if isinstance(first, Tensor) else first if isinstance(first, (list, tuple)) else []
            with self._signal._reading():
                self._signal.seen(func.__name__, [t for t in written if isinstance(t, Tensor)], args)
        return result


def _limits() -> dict[str, Any] | None:
    """What the clipping function was called with that is reading a gradient right now; None where none is."""
    frame = reader()
    while frame is not None and frame.f_code.co_filename == clip_grad.__file__:
        if "max_norm" in frame.f_locals or "clip_value" in frame.f_locals:
            return dict(frame.f_locals)
        frame = frame.f_back
    return None


@unseen
def _held(optimizer: Optimizer) -> list[Tensor]:
    found = {id(p): p for group in optimizer.param_groups for p in group["params"] if _is_dense(p.grad)}
    return list(found.values())  # each once


@unseen
def _ids(holder: object) -> set[int]:
    if isinstance(holder, Optimizer):
        return {id(p) for group in holder.param_groups for p in group["params"]}
    return {id(p) for p in holder.parameters()} if isinstance(holder, nn.Module) else set()


def _is_dense(grad: Tensor | None) -> bool:
    return grad is not None and not grad.is_sparse


@unseen
def _grad(parameter: Tensor) -> Tensor | None:
    return parameter.grad if _is_dense(parameter.grad) else None


@unseen
def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [p.grad for p in parameters if p.grad is not None]
