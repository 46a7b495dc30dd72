"""Optimizers that are not torch's: those of Keras and fastai, which torch's hooks never hear of.

Without them a run sees parameters move and nobody who moves them: it could not tell a head that was left out, or that
gradients are never cleared. So each gets a stand-in that looks like an optimizer of torch, with the same parameters and
rates, and its updates are reported like any other. What a cure changes about the stand-in (a rate, one parameter more)
holds for the optimizer itself. A library is looked for when a backward pass begins: tests import theirs late.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from ..source.engine_frames import stand_in
from .events import Listener
from .run import Run

#: As torch made it: while the making of optimizers is watched it is another one, and a stand-in is made by nobody.
_INIT = Optimizer.__init__


class StandIn(Optimizer):
    def __init__(self, groups: list[dict[str, Any]]) -> None:
        _INIT(self, groups, {"lr": groups[0].get("lr", 0.0)})


class ForeignOptimizers(Listener):
    """Subscribed before the signals: the first backward pass is when it begins to report."""

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._reports = _Reports(run, stack)
        self._waiting = dict(_LIBRARIES)

    def backward_begins(self, roots: list[Tensor]) -> None:
        for name in [name for name in self._waiting if name in sys.modules]:
            self._waiting.pop(name)(self._reports, sys.modules[name])


class _Reports:
    """To one run, of whatever libraries there are."""

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run, self._stack = run, stack
        #: By the id of the optimizer, which is kept: another one must not get it.
        self._known: dict[int, tuple[Any, StandIn]] = {}

    def replace(self, kind: type, method: str, wrapped: Callable[..., Any]) -> None:
        self._stack.callback(setattr, kind, method, getattr(kind, method))
        setattr(kind, method, wrapped)

    def stand_in(self, optimizer: Any, groups: list[dict[str, Any]]) -> StandIn:
        """That of the optimizer, with these groups as they are now."""
        known = self._known.get(id(optimizer))
        if known is None:
            kind = type(type(optimizer).__name__, (StandIn,), {})
            known = self._known[id(optimizer)] = (optimizer, kind(groups))
            self._run.add_optimizer(known[1])
        stand_in = known[1]
        for group, now in zip(stand_in.param_groups, groups, strict=False):
            group.update(now)
        return stand_in

    @contextmanager
    def update(self, reported: StandIn) -> Iterator[None]:
        self._run.emit("update_begins", reported, False)
        yield
        self._run.emit("update_ends", reported, False)

    @contextmanager
    def clearing(self, reported: StandIn) -> Iterator[None]:
        self._run.emit("gradients_clearing", reported)
        yield
        self._run.emit("gradients_cleared", reported)


def _keras(report: _Reports, library: Any) -> None:
    """Keras clears gradients with `zero_grad()` of the module, which is heard of already."""
    kind = library.BaseOptimizer
    original = kind.apply

    @stand_in
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
        held = [each._value for each in trainable_variables or self._trainable_variables]
        if not held or not all(isinstance(each, Tensor) for each in held):  # another backend than torch
            return original(self, grads, trainable_variables)
        rate = float(self.learning_rate)
        reported = report.stand_in(self, [{"params": held, "lr": rate}])
        with report.update(reported):
            changed = reported.param_groups[0]["lr"]
            if changed == rate:
                return original(self, grads, trainable_variables)
            vars(self)["_get_current_learning_rate"] = lambda: changed  # a schedule takes no other value
            try:
                return original(self, grads, trainable_variables)
            finally:
                del vars(self)["_get_current_learning_rate"]

    report.replace(kind, "apply", apply)


def _fastai(report: _Reports, library: Any) -> None:
    kind = library.Optimizer
    step, zero_grad = kind.step, kind.zero_grad

    def stand_in_of(self: Any) -> StandIn:
        groups = [{"params": list(each), **hyper} for each, hyper in zip(self.param_lists, self.hypers, strict=True)]
        return report.stand_in(self, groups)

    def reporting_step(self: Any, *args: Any, **kwargs: Any) -> None:
        stand_in, before = stand_in_of(self), [dict(hyper) for hyper in self.hypers]
        with report.update(stand_in):
            for hyper, group in zip(self.hypers, stand_in.param_groups, strict=False):
                hyper["lr"] = group["lr"]
            for group in stand_in.param_groups[len(self.hypers) :]:  # added by a cure
                self.param_lists[0] = self.param_lists[0] + group["params"]
            del stand_in.param_groups[len(self.hypers) :]
            step(self, *args, **kwargs)
            for hyper, values in zip(self.hypers, before, strict=True):
                hyper.update(values)

    def reporting_zero_grad(self: Any) -> None:
        with report.clearing(stand_in_of(self)):
            zero_grad(self)

    report.replace(kind, "step", reporting_step)
    report.replace(kind, "zero_grad", reporting_zero_grad)


#: By the module that holds the class.
_LIBRARIES: dict[str, Callable[[_Reports, Any], None]] = {
    "keras.src.optimizers.base_optimizer": _keras,
    "fastai.optimizer": _fastai,
}
