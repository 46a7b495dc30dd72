"""Now and then, while a run trains, it is measured on data that it does not learn from. The run goes on as without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...records.improvement import Validation
from ...state.process import remember_random_numbers
from ...tensors.batches import fresh_containers, tensors, to_device
from ...tensors.fingerprint import NoFingerprint, fingerprint
from ...training import is_one_batch

#: Batches that are looked at each time. By judgement: 16, so that a look takes no longer than the steps between two.
_MOST = 16


class Validated(Listener):
    """`every`: steps from one look to the next. `measure`: of the training, instead of its loss on `val_data`."""

    def __init__(
        self, run: Run, stack: ExitStack, every: int = 1, measure: Callable[[Any], float] | None = None
    ) -> None:
        self._run, self._every, self._measure = run, every, measure
        self._found = run.trace.state.validation = Validation()
        self._batches: list[Any] = []

    def step_begins(self, batch: object) -> None:
        if self._run.step == 0 and not self._found.points and not self._found.why_not:
            self._found.start = _print_of([p.detach() for p in self._run.parameters.values()])
            self._look(0)

    def step_ends(self) -> None:
        if (self._run.step + 1) % self._every == 0 and not self._found.why_not:
            self._look(self._run.step + 1)

    def _look(self, step: int) -> None:
        training: Any = self._run.training
        if training is None:
            self._found.why_not = "a watched test validates by itself: return a Training"
            return
        modes = {module: module.training for model in self._run.models.values() for module in model.modules()}
        put_back = remember_random_numbers()
        try:
            value = self._value(training)
            if value is not None:
                self._found.points.append((step, value))
        except Exception as error:
            if self._measure is not None:
                raise
            self._found.why_not = f"validating raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        finally:
            put_back()
            for module, mode in modes.items():
                module.training = mode

    def _value(self, training: Any) -> float | None:
        if self._measure is not None:
            self._found.what = "measure"
            with torch.no_grad():
                return float(self._measure(training))
        own = training.step is not None and training.evaluate is not None
        if training.val_data is None and not own:
            self._found.why_not = "there is no val_data"
            return None
        self._found.what = "validation loss"
        if training.step is None:
            return self._by_the_loss(training)
        found = None if training.evaluate is None else _loss_of(training.evaluated(training.val_data))
        if found is None:
            self._found.why_not = "the training has its own step, and no evaluate= that returns a loss by that name"
        return found

    def _by_the_loss(self, training: Any) -> float:
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        if not self._batches:
            data = training.val_data
            self._batches = [data] if is_one_batch(data) else list(islice(data, _MOST))
            self._found.batches = _print_of([tensor for batch in self._batches for _, tensor in tensors(batch)])
        for module in training.modules.values():
            module.eval()
        losses = []
        with torch.enable_grad(), stepper._autocast():  # a loss may be made of gradients itself
            for batch in self._batches:
                found = stepper._forward(to_device(fresh_containers(batch), training.device))
                losses.append(float(found.detach()) if isinstance(found, Tensor) else float(found))
        return sum(losses) / len(losses)


def _print_of(values: list[Tensor]) -> str:
    try:
        return fingerprint(values) if values else ""
    except NoFingerprint:
        return ""


def _loss_of(results: Any) -> float | None:
    """What is called a loss among the figures of an evaluation."""
    if isinstance(results, (list, tuple)):
        return next((found for found in map(_loss_of, results) if found is not None), None)
    if not isinstance(results, Mapping):
        return None
    named = [value for name, value in results.items() if str(name).lower().endswith("loss")]
    return float(named[0]) if named else None
