"""Whether a model is evaluated in training mode between its updates, so that BatchNorm learns from what it is shown, or
dropout is on.

Forward passes without gradients in training mode are often meant: pseudo-labels, a generator that makes samples for its
critic, a first pass that chooses samples. An evaluation is on other data than the step's, and computes a loss of them,
one number, that nothing is trained with. Several passes of the same data with dropout on are an estimate of how certain
a model is.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ....records.loss_functions import LOSSES
from ....records.verdict import Place
from ....records.wiring import ModeRecord
from ....tensors.batches import tensors
from ....tensors.function_modes import FunctionMode
from ....tensors.storage import memory_of
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.places import user_place

_LOSSES = {loss.name for loss in LOSSES}


class Validations(Signal):
    NAME, COST = "validations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._hooks, self._mode = ExitStack(), ExitStack()
        self._met: set[str] = set()
        #: What each model was called with in this step, with and without gradients, and the line of the latter.
        self._given: dict[str, Tensor] = {}
        self._trained: dict[str, list[Tensor]] = {}
        self._evaluated: dict[str, list[tuple[Tensor, Place | None]]] = {}
        self._batch: set[int] = set()
        self._suspicious = False
        #: Whether any model has layers that are looked at: the others are not evaluated in training mode.
        self._watches = False
        #: Whether it is a dropout that was looked at, for want of a BatchNorm.
        self._drops: dict[str, bool] = {}
        self._losses = 0

    def step_begins(self, batch: object) -> None:
        for prefix, model in self._run.models.items():
            if prefix not in self._met:
                self._met.add(prefix)
                self._meet(prefix, model)
        self._trained.clear()
        self._evaluated.clear()
        self._losses = 0
        if self._suspicious:
            self._mode.enter_context(_Losses(self))
        if self._watches:
            self._batch = {memory_of(each) for _, each in tensors(batch) if each.layout == torch.strided}

    def step_ends(self) -> None:
        self._mode.close()
        for prefix, passes in self._evaluated.items():
            others = [place for given, place in passes if not self._is_trained_on(prefix, given)]
            if not others or not self._trained.get(prefix) or self._is_meant(prefix, passes):
                continue
            if self._suspicious and self._losses:
                name = prefix or type(self._run.models[prefix]).__name__
                record = self._run.trace.wiring.modes.setdefault(name, ModeRecord(name))
                record.validated.append(self._run.step)
                record.validated_at, record.drops = record.validated_at or others[0], self._drops[prefix]
            self._suspicious = self._run.trace.wiring.evaluated_while_training = True

    def run_ends(self) -> None:
        self._mode.close()
        self._hooks.close()

    def loss_without_gradient(self) -> None:
        self._losses += bool(self._evaluated)

    def _meet(self, prefix: str, model: nn.Module) -> None:
        norms = (m for m in model.modules() if isinstance(m, _BatchNorm) and m.running_mean is not None)
        first: nn.Module | None = next(norms, None)
        self._drops[prefix] = first is None
        first = first or next((m for m in model.modules() if isinstance(m, _DropoutNd) and m.p), None)
        if first is None:
            return
        self._watches = True

        def called(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            given = next((each for _, each in tensors((args, kwargs)) if each.layout == torch.strided), None)
            self._given.pop(prefix, None)
            if given is not None and model.training:
                self._given[prefix] = given
                if torch.is_grad_enabled():
                    self._trained.setdefault(prefix, []).append(given)

        def normalises(module: nn.Module, args: Any) -> None:
            # looked at here, where it happens: a part may be in eval mode by itself
            given = self._given.pop(prefix, None)
            if given is not None and module.training and not torch.is_grad_enabled():
                self._evaluated.setdefault(prefix, []).append((given, user_place()))

        self._hooks.callback(self._before_call(called, model, with_kwargs=True).remove)
        self._hooks.callback(self._before_call(normalises, first).remove)

    def _is_meant(self, prefix: str, passes: list[tuple[Tensor, Place | None]]) -> bool:
        """Dropout: to see how certain a model is, or as the noise of a generator, whose critic may have some too."""
        return self._drops[prefix] and (_again(passes) or len(self._run.optimizers) > 1)

    def _is_trained_on(self, prefix: str, given: Tensor) -> bool:
        if memory_of(given) in self._batch:
            return True
        return any(each.shape == given.shape and torch.equal(each, given) for each in self._trained.get(prefix, ()))


def _again(passes: list[tuple[Tensor, Place | None]]) -> bool:
    """The same data were passed more than once."""
    given = [each for each, _ in passes]
    return any(
        one.shape == other.shape and torch.equal(one, other)
        for number, one in enumerate(given)
        for other in given[:number]
    )


class _Losses(FunctionMode):
    """Sees losses that are one number, computed without gradients."""

    def __init__(self, signal: Validations) -> None:
        super().__init__()
        self._signal = signal

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        is_loss = getattr(func, "__name__", "") in _LOSSES and not torch.is_grad_enabled()
        if is_loss and isinstance(result, Tensor):
            with self._signal._reading():
                if result.numel() == 1:
                    self._signal.loss_without_gradient()
        return result
