"""Evaluates `val_data` between steps, beside batches that were learnt from: the same loss, both in eval mode.

So the two are the same quantity, whatever dropout or augmentation make of the loss of a step. Random numbers, modes and
buffers are put back each time, and whoever else follows the run is told nothing: it may be the run of another check. A
training with its own `step` is evaluated by its own `evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice, pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ....records.held_out import HeldOutPoint, HeldOutRecord, Scored
from ....state.process import remember_random_numbers, seed_everything
from ....tensors.batches import batch_size, fresh_containers, map_tensors, tensors, to_device
from ....tensors.parts_of_batches import is_ragged, rows_of
from ....training import is_one_batch
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import nobody_looks
from .evaluated_calls import DropoutsSeen
from .evaluation import watched_layers
from .given_scale import GivenScale
from .scored_calls import ScoredCalls
from .shifted_targets import shifted_targets
from .side_by_side import numbers

#: Steps after which it evaluates, and between two evaluations later on. By judgement: 12 in a run of 120 steps.
_AFTER, _EVERY = (1, 5, 10, 15, 20, 30, 40), 20
#: Steps after which the training's own `evaluate` is looked at; the last counts. By judgement: BatchNorm has statistics
#: after 20, and what dropout costs shows when something is learnt.
_OWN_AFTER = (20, 40, 80, 120)
#: Batches of each side, and the values that they may hold. By judgement: 4 batches of 64 samples tell 10 points of
#: accuracy apart, and 4 million values take 16 MB.
_BATCHES, _VALUES = 4, 4_000_000
#: Parts that the batches are cut into, at least, to see how far the loss varies from one to the next. By judgement: 4.
_PARTS = 4
#: For each evaluation the same. By judgement: any would do.
_SEED = 303


class HeldOut(Signal):
    NAME, COST = "held_out", Cost.STATE
    LAST = True  # it calls the models, once all other signals have stopped listening

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._learnt: list[Any] = []
        self._values = 0
        self._val: list[Any] | None = None
        self._scale = GivenScale()
        self._enough = False

    # -- the batches ---------------------------------------------------------------------------------

    def step_begins(self, batch: object) -> None:
        if not self._wanted():
            return
        size = sum(tensor.numel() for _, tensor in tensors(batch))
        if len(self._learnt) < _BATCHES and (not self._learnt or self._values + size <= _VALUES):
            self._values += size
            self._learnt.append(map_tensors(lambda _, tensor: tensor.detach().clone(), batch))

    def step_ends(self) -> None:
        steps = self._run.step + 1
        due = (steps in _AFTER or steps % _EVERY == 0) and not self._enough
        if self._wanted() and due and not self._run.budget.over():
            self._look(steps)
            enough = self._run.evaluated_enough
            self._enough = enough is not None and enough(self._run.trace)

    def run_ends(self) -> None:
        self._learnt, self._val = [], None

    def _wanted(self) -> bool:
        held, training = self._run.trace.state.held_out, self._run.training
        if held is not None:
            return not held.why_not
        held = self._run.trace.state.held_out = HeldOutRecord()
        if training is None:
            held.why_not = "nothing tells the evaluations of a watched test from its steps: return a Training"
        elif training.val_data is None:
            held.why_not = "the training has no val_data"
        elif training.step is not None and training.evaluate is None:
            held.why_not = "the training has its own step: hand in evaluate=, which says how val_data is evaluated"
        else:
            held.own = training.step is not None
        return not held.why_not

    # -- an evaluation -------------------------------------------------------------------------------

    def _look(self, steps: int) -> None:
        held, training = self._run.trace.state.held_out, self._run.training
        assert held is not None
        assert training is not None
        try:
            with self._aside(), self._run.nobody_told(), nobody_looks():
                if training.evaluate is not None and (held.own or steps in _OWN_AFTER):
                    self._by_their_own(held, training, steps)
                if not held.own:
                    self._by_the_loss(held, training, steps)
        except Exception as error:
            what = "evaluate(val_data)" if held.own else "the loss of val_data, in eval mode,"
            held.why_not = f"{what} raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Whatever an evaluation draws, switches or counts is put back."""
        modules = dict(self._run.named_modules())
        modes = {name: module.training for name, module in modules.items()}
        buffers = [(each, each.detach().clone()) for model in self._run.models.values() for each in model.buffers()]
        put_back = remember_random_numbers()
        try:
            seed_everything(_SEED)
            yield
        finally:
            put_back()
            for name, module in modules.items():
                module.training = modes[name]
            with torch.no_grad():
                for buffer, before in buffers:
                    if not torch.equal(buffer, before):  # a copy into it counts as a change
                        buffer.copy_(before)

    def _by_the_loss(self, held: HeldOutRecord, training: Any, steps: int) -> None:
        if self._val is None:
            self._val = self._read(training.val_data)
            held.val_samples = sum(batch_size(batch) or 0 for batch in self._val)
        for module in training.modules.values():
            _to_eval_mode(module)
        changed = self._run.trace.applied.validated
        with self._scale.noting(self._run.models, "data"):
            train, _ = self._scored(_cut(self._learnt))
        with self._scale.noting(self._run.models, "val_data", changed=changed):
            parts = _cut(self._val)
            val, calls = self._scored(parts)
        self._note_guess(held, calls, val.parts)
        held.shifted = shifted_targets(parts, calls)
        held.shift, held.other_order = self._scale.shift, self._scale.other_order
        held.points.append(HeldOutPoint(steps, val, train))

    def _note_guess(self, held: HeldOutRecord, calls: ScoredCalls, losses: Sequence[float]) -> None:
        if len(held.points) == 0:
            held.chance, held.most_frequent = calls.loss_by_guessing(losses), calls.most_frequent

    def _scored(self, batches: Sequence[Any]) -> tuple[Scored, ScoredCalls]:
        stepper: Any = self._run.stepper  # type: ignore[attr-defined]
        losses = []
        with ScoredCalls() as calls, torch.enable_grad(), stepper._autocast():  # a loss may be made of gradients itself
            for batch in batches:
                found = stepper._forward(fresh_containers(batch))
                losses.append(float(found.detach()) if isinstance(found, Tensor) else float(found))
        return Scored(tuple(losses), calls.accuracy, calls.scored), calls

    def _by_their_own(self, held: HeldOutRecord, training: Any, steps: int) -> None:
        """By the loss functions that it calls, or by the only number that it returns."""
        how = self._run.trace.applied.evaluated
        calls, loss = self._evaluated(held, training, how)
        if held.own:
            if loss is None:
                held.why_not = "evaluate(val_data) calls no loss function that is known, and returns no number"
                return
            self._note_guess(held, calls, [value for value, _ in calls.values])
            held.points.append(HeldOutPoint(steps, Scored((loss,), calls.accuracy, calls.scored)))
        if steps in _OWN_AFTER and loss is not None:
            held.own_loss = loss
            if held.active and not how:
                held.own_loss_in_eval_mode = self._evaluated(None, training, "in eval mode")[1]

    def _evaluated(self, held: HeldOutRecord | None, training: Any, how: str) -> tuple[ScoredCalls, float | None]:
        seed_everything(_SEED)
        with ExitStack() as stack:
            seen = stack.enter_context(DropoutsSeen(off=how == "in eval mode"))
            layers = watched_layers(dict(self._run.named_modules()), stack, how)
            calls = stack.enter_context(ScoredCalls())
            figures = numbers(training.evaluated(training.val_data))
        if held is not None:
            held.active = [*layers.values(), *seen.found]
        return calls, calls.loss if calls.loss is not None else figures[0] if len(figures) == 1 else None

    def _read(self, data: Any) -> list[Any]:
        found: list[Any] = []
        size = 0
        device = self._run.feed.device if self._run.feed is not None else None
        for batch in [data] if is_one_batch(data) else islice(data, _BATCHES):
            size += sum(tensor.numel() for _, tensor in tensors(batch))
            if found and size > _VALUES:
                break
            found.append(batch if device is None else to_device(batch, device))
        return found


def _to_eval_mode(module: nn.Module) -> None:
    """Not by `eval()`, unless it is the user's own: who looks for the user's calls of that would see this one."""
    if type(module).eval is nn.Module.eval:
        module.train(False)
    else:
        module.eval()


def _cut(batches: Sequence[Any]) -> list[Any]:
    """Into so many parts that it can be seen how far their losses vary."""
    if len(batches) >= _PARTS or not batches:
        return list(batches)
    each = -(-_PARTS // len(batches))
    found = []
    for batch in batches:
        samples = batch_size(batch) or 0
        if samples < 2 * each or is_ragged(batch, samples):
            found.append(batch)
            continue
        ends = [round(at * samples / each) for at in range(each + 1)]
        found += [rows_of(batch, samples, slice(*pair)) for pair in pairwise(ends)]
    return found
