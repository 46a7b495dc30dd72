"""Evaluates between two steps, as the user does or in eval mode, and sees what that depends on and leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from ....records.held_out import ActiveLayer
from ....records.state import EvaluationRecord
from ....state.generator_states import shared_prints
from ....state.loop_state import Part, parts_of
from ....state.process import remember_random_numbers, seed_everything
from ....tensors.batches import batch_size
from ....tensors.parts_of_batches import is_ragged, rows_of
from ....training import is_one_batch
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import before_call
from .evaluated_calls import DropoutsSeen, EvaluatedCalls
from .side_by_side import aligned, figures_apart, numbers, outputs_apart

#: The step after which it evaluates. By judgement: after 4 steps BatchNorm has statistics.
_AFTER = 3
#: Most batches that are evaluated by the loss, and of those that are cut. By judgement: 4.
_MOST = 4
#: Seeds of the evaluations. By judgement: any would do, as long as they differ.
_ONE, _OTHER = 101, 202
_STATE = ("weights", "buffers", "attributes")


class Evaluation(Signal):
    NAME, COST = "evaluation", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._modes: dict[str, bool] = {}
        #: Where the shared random numbers stood after the step before, and which have moved since.
        self._stood: dict[str, str] = {}
        self._drawn: set[str] = set()

    def step_ends(self) -> None:
        run = self._run
        if run.step <= _AFTER:
            now = shared_prints()
            self._drawn |= {name for name, place in self._stood.items() if now[name] != place}
            self._stood = now
        if self._modes:
            self._look_at_modes()
        if run.step != _AFTER or run.training is None or run.trace.applied.evaluated == "not at all":
            return
        training = run.training
        record = run.trace.state.evaluation = EvaluationRecord(own=training.evaluate is not None)
        if training.step is not None and training.evaluate is None:
            record.why_not = "the training has its own step: hand in evaluate=, and val_data= if it takes them"
            return
        modules = dict(run.named_modules())
        self._modes = {name: module.training for name, module in modules.items()}
        put_back = remember_random_numbers()
        try:
            self._evaluate(record, training)
        except Exception as error:
            raised = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            own = "evaluate(val_data)" if training.evaluates_val_data else "evaluate()"
            record.why_not = f"{own if record.own else 'the loss, in eval mode,'} raises {raised}"
        finally:
            put_back()
            if training.step is None:  # who sets the mode in the user's loop is not known
                self._modes_back(modules)

    def _modes_back(self, modules: Mapping[str, nn.Module]) -> None:
        for name, module in modules.items():
            module.training = self._modes.get(name, module.training)
        self._modes = {}

    def _look_at_modes(self) -> None:
        found = self._run.trace.state.evaluation
        if found is not None:
            now = {name: module.training for name, module in self._run.named_modules()}
            left = [name for name, mode in self._modes.items() if mode and not now.get(name, True)]
            found.left_in_eval = [name or "the model" for name in left if _parent(name) not in left]
        self._modes = {}

    # -- the evaluations -----------------------------------------------------------------------------

    def _evaluate(self, record: EvaluationRecord, training: Any) -> None:
        how = self._run.trace.applied.evaluated
        parts = {name: part for name, part in parts_of(training).items() if part.kind in _STATE}
        before = {name: part.print() for name, part in parts.items()}
        values = {name: part.read() for name, part in parts.items()} if how == "put back" else {}
        data = training.val_data if training.val_data is not None else training.data
        if training.evaluate is None:  # the same batches each time, whatever a data set draws
            data = [data] if is_one_batch(data) else list(islice(data, _MOST))
        first = self._once(training, data, _ONE, record)
        stands = shared_prints()
        record.changed = [] if values else _changed(before, parts_of(training))
        _put_back(parts, values)
        second = self._once(training, data, _OTHER, None)
        _put_back(parts, values)
        if not values and record.own:  # else they are put back like all else
            again = shared_prints()
            record.reseeded = [name for name, place in stands.items() if again[name] == place and name in self._drawn]
        record.results = (first[0], second[0])
        record.by_chance = outputs_apart(first[1], second[1])
        given = not record.own or training.evaluates_val_data
        if given and not values:  # state that moves within an evaluation moves at other samples in smaller batches
            self._smaller(record, training, data)

    def _smaller(self, record: EvaluationRecord, training: Any, data: Any) -> None:
        """Each batch is cut into two halves, so that a mean of the batches' means stays what it is."""
        batches = [data] if is_one_batch(data) else list(islice(data, _MOST))
        sizes = [batch_size(batch) or 0 for batch in batches]
        even = [rows_of(b, n, slice(0, n - n % 2)) for b, n in zip(batches, sizes, strict=True) if n > 1]
        halves = [rows_of(b, n, half) for b, n in zip(batches, sizes, strict=True) if n > 1
                  for half in (slice(0, n // 2), slice(n // 2, n - n % 2))]  # fmt: skip
        if not even or any(is_ragged(batch, n) for batch, n in zip(batches, sizes, strict=True)):
            return
        try:
            whole = self._once(training, even, _ONE, None)
            cut = self._once(training, halves, _ONE, None)
        except Exception:  # an `evaluate` may ask its loader for its data set, and a graph cannot be cut
            return
        record.by_size = outputs_apart(*aligned(whole[1], cut[1], len(even)))
        record.figures_by_size = figures_apart(whole[0], cut[0])

    def _once(
        self, training: Any, data: Any, seed: int, record: EvaluationRecord | None
    ) -> tuple[tuple[float, ...], list[Tensor]]:
        seed_everything(seed)
        with ExitStack() as stack:
            calls = EvaluatedCalls(self._run.models, stack)
            seen = stack.enter_context(DropoutsSeen(off=self._run.trace.applied.evaluated == "in eval mode"))
            layers = watched_layers(dict(self._run.named_modules()), stack, self._run.trace.applied.evaluated)
            if training.evaluate is not None:
                figures = numbers(training.evaluated(data))
            else:
                figures = self._by_the_loss(training, data)
            if record is not None:
                record.active = [*layers.values(), *seen.found]
            return figures, calls.outputs

    def _by_the_loss(self, training: Any, data: Any) -> tuple[float, ...]:
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        for module in training.modules.values():
            module.eval()
        losses = []
        with torch.enable_grad(), stepper._autocast():  # a loss may be made of gradients itself
            for batch in data:
                found = stepper._forward(batch)
                losses.append(float(found.detach()) if isinstance(found, Tensor) and found.numel() == 1 else 0.0)
        return tuple(losses)


def _parent(name: str) -> str | None:
    return name.rpartition(".")[0] if name else None


def watched_layers(modules: Mapping[str, nn.Module], stack: ExitStack, how: str) -> dict[str, ActiveLayer]:
    """Dropout and BatchNorm that run in training mode; "in eval mode" they do not."""
    found: dict[str, ActiveLayer] = {}

    def begins(name: str, module: Any) -> None:
        if not module.training or getattr(module, "p", 1.0) == 0:
            return
        if isinstance(module, _NormBase) and (not module.track_running_stats or "Instance" in type(module).__name__):
            return
        if how == "in eval mode":
            module.training = False
            return
        whole = modules.get("", module)
        found[name] = ActiveLayer(name, type(module).__name__, whole.training)

    for name, module in modules.items():
        if isinstance(module, (_NormBase, _DropoutNd)) and not isinstance(module, torch.jit.ScriptModule):
            handle = before_call(lambda module, _, name=name: begins(name, module), module)
            stack.callback(handle.remove)
            if how == "in eval mode":
                stack.callback(setattr, module, "training", module.training)
    return found


def _put_back(parts: Mapping[str, Part], values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        parts[name].write(value)


def _changed(before: Mapping[str, str], after: Mapping[str, Part]) -> list[str]:
    now = {name: part for name, part in after.items() if part.kind in _STATE}
    return [part.name for name, part in now.items() if name in before and part.print() != before[name]]
