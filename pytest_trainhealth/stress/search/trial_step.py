"""One step of a training, taken again and again from the same state with other values in its batch.

Each attempt returns whether everything stayed finite, how far one operation was from its danger zone, and in which
direction the fields of the batch have to move to come closer.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...observe.calls.danger_zones import DangerZone, danger_zone
from ...observe.calls.torch_calls import Call, CallSignal
from ...observe.run.stepper import Stepper
from ...observe.source.module_calls import before_call
from ...observe.source.places import user_place
from ...programs.training_program import TrainingRun
from ...records.verdict import Place
from ...state.process import remember_random_numbers
from ...state.snapshot import Snapshot
from ...tensors.batches import batch_size, map_tensors, tensors
from ...training import Training
from .input_fields import called_models, note_inputs, same_values

#: A line inside a loop is called many times; its first calls stand for the others. By judgement: 8 show what it does.
_MOST_CALLS = 8


@dataclass(frozen=True)
class Aim:
    """An operation with a danger zone on a line of the user's own."""

    operation: str
    place: Place
    module: str
    zone: DangerZone


@dataclass(frozen=True)
class Attempt:
    values: Mapping[str, Tensor]
    finite: bool
    #: One per sample if the operation works on samples, else one for all. None: it does not depend on the fields.
    gaps: Tensor | None = None
    #: The gradients of the gaps, by field.
    slopes: Mapping[str, Tensor] | None = None


class AimedStep:
    """`fields` are the floating-point tensors of the batch that reach a model, by name."""

    def __init__(self, run: TrainingRun, training: Training, before: int) -> None:
        self._run = run
        self._stepper = run.stepper = Stepper(training)
        self._sight = _Sight(run)
        run.subscribe(self._sight)
        for _ in range(before):
            self._take(run.feed.take())
            run.step += 1
        batch = run.feed.take()
        self.size = run.trace.batch_size = batch_size(batch)
        self._batch = map_tensors(lambda _, tensor: tensor.detach().clone(), batch)
        self._put_back = Snapshot(training.state_roots()).restore
        self._random_numbers = remember_random_numbers()
        self._same = same_values(self._batch)
        self.aims: list[Aim] = []
        self.fields: dict[str, Tensor] = {}
        self._scout()

    def by_sample(self, field: Tensor) -> bool:
        return field.shape[0] == self.size

    def attempt(self, values: Mapping[str, Tensor], aim: Aim | None = None) -> Attempt | None:
        """None if the user's code raises. Without an aim the inputs carry no gradient, as in the training itself."""
        leaves = {name: value.detach().clone().requires_grad_(aim is not None) for name, value in values.items()}
        by_sample = all(self.by_sample(value) for value in values.values())
        self._sight.look(aim, leaves, self.size if by_sample else None)
        self._rewind()
        try:
            loss = self._take(self._with(leaves))
        except Exception:
            return None
        finite = self._run.finiteness.after_step(loss, closely=True) is None
        return Attempt(values, finite, self._sight.gaps, self._sight.slopes)

    def whole(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The values with copies for all fields that hold the same: an autoencoder's target is its input."""
        return {name: values[first] for name, first in self._same.items() if first in values}

    def _scout(self) -> None:
        known = dict(tensors(self._batch))
        leaves = {name: known[name].requires_grad_() for name in self._same.values()}
        self._sight.scout()
        reached: set[str] = set()
        self._rewind()  # before the hooks are set: restoring the state would remove them
        try:
            with ExitStack() as stack:
                hook = note_inputs(leaves, reached)
                for model in (each for known in self._run.models.values() for each in called_models(known)):
                    stack.callback(before_call(hook, model, with_kwargs=True).remove)
                self._take(self._with(leaves))
        except Exception:  # the code reads its inputs as numbers, or is compiled and takes no hooks: no aims
            return
        self.aims = list(self._sight.aims)
        self.fields = {name: leaf.detach() for name, leaf in leaves.items() if name in reached}

    def _rewind(self) -> None:
        self._put_back()
        self._random_numbers()

    def _with(self, leaves: Mapping[str, Tensor]) -> Any:
        def given(name: str, tensor: Tensor) -> Tensor:
            same = self._same.get(name, name)
            return leaves.get(same, tensor.detach()).clone()  # a step may write into it

        return map_tensors(given, self._batch)

    def _take(self, batch: Any) -> float:
        self._run.emit("step_begins", batch)
        try:
            loss = self._stepper.take(batch)
        finally:
            self._run.feed.give_back()
            self._run.emit("step_ends")
        return loss


class _Sight(CallSignal):
    """Watches the operations with a danger zone: all of them while scouting, later only the one aimed at."""

    def __init__(self, run: TrainingRun) -> None:
        super().__init__(run)
        self._scouting = False
        self._aim: Aim | None = None
        self._leaves: Mapping[str, Tensor] = {}
        self._size: int | None = None
        self._calls = 0
        self.aims: dict[Aim, None] = {}
        self.gaps: Tensor | None = None
        self.slopes: dict[str, Tensor] | None = None

    def scout(self) -> None:
        self._scouting = True

    def look(self, aim: Aim | None, leaves: Mapping[str, Tensor], size: int | None) -> None:
        self._scouting, self._aim, self._leaves, self._size, self._calls = False, aim, leaves, size, 0
        self.gaps = self.slopes = None

    def wanted(self) -> bool:
        self._forward = True  # a backward pass that raised did not end
        return self._scouting or self._aim is not None

    def called(self, call: Call) -> None:
        if call.error is not None or (self._aim is not None and call.name != self._aim.operation):
            return
        zone = danger_zone(call)
        place = user_place() if zone is not None else None
        if zone is None or place is None:
            return
        gap, aim = zone.gap(call), Aim(call.name, place, call.module, zone)
        if gap is None or not gap.requires_grad or not gap.numel():
            return
        if self._scouting:
            self.aims[aim] = None
        elif aim == self._aim and self._calls < _MOST_CALLS:
            self._calls += 1
            self._measure(gap.float())

    def _measure(self, gap: Tensor) -> None:
        by_sample = gap.ndim > 0 and gap.shape[0] == self._size
        gaps = gap.reshape(self._size if by_sample and self._size else 1, -1).amin(1)
        found = torch.autograd.grad(gaps.sum(), list(self._leaves.values()), retain_graph=True, allow_unused=True)
        if all(slope is None for slope in found):
            return
        slopes = {
            name: torch.zeros_like(leaf) if slope is None else slope.nan_to_num(0, 0, 0)
            for (name, leaf), slope in zip(self._leaves.items(), found, strict=True)
        }
        gaps = gaps.detach()
        if self.gaps is None or self.slopes is None:
            self.gaps, self.slopes = gaps, slopes
        elif self.gaps.shape == gaps.shape:
            nearer = gaps < self.gaps
            self.gaps = torch.where(nearer, gaps, self.gaps)
            self.slopes = {name: torch.where(fit(nearer, s), s, self.slopes[name]) for name, s in slopes.items()}


def fit(by_sample: Tensor, field: Tensor) -> Tensor:
    """One figure per sample, or one for all, reshaped so that it broadcasts over the field."""
    return by_sample.reshape(-1, *[1] * (field.ndim - 1))
