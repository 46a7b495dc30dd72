"""Interrupts nothing: calls the user's `save` between two steps, and notes what the training was like then."""

from __future__ import annotations

from typing import Any

import torch

from ....state.checkpoints import Checkpoint, keep, new_folder
from ....state.loop_state import parts_of
from ....state.their_checkpoints import NotKept, save_to, words_of_save
from ....tensors.batches import map_tensors
from ...run.run import Run
from ...run.signal import Cost, Signal

#: The step at which a run is interrupted at the earliest, and how many there are to draw from. By judgement: after 4
#: steps, momentum, averages and counters are far from where they began.
_EARLIEST, _CHOICE = 4, 4
#: A second look is made with a seed that is larger by 7919 (engine/conclude.py), and interrupts at the same step: with
#: a schedule of periods, say, another one may show nothing.
_SECOND_LOOK = 7919


class CheckpointSignal(Signal):
    NAME, COST = "checkpoint", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._at = _EARLIEST + torch.initial_seed() % _SECOND_LOOK % _CHOICE
        self._checkpoint: Checkpoint | None = None

    def step_begins(self, batch: Any) -> None:
        state, kept = self._run.trace.state, self._checkpoint
        if kept is not None and state.saved_at is not None:
            if self._run.step == state.saved_at:
                kept.random = parts_of(self._run.training)["random numbers "].read()
            kept.batches.append(map_tensors(lambda _, tensor: tensor.detach().clone(), batch))

    def step_ends(self) -> None:
        """Only after an update: in the middle of an accumulation nobody saves."""
        run, state = self._run, self._run.trace.state
        by_hand = not run.trace.update_count
        updated = by_hand or bool(run.trace.updates and run.trace.updates[-1])
        if state.saved_at is None and run.training is not None and run.step + 1 >= self._at and updated:
            state.saved_at = run.step + 1
            if run.training.save is not None and not run.trace.applied.resumed:
                self._save(run.training)

    def _save(self, training: Any) -> None:
        trace = self._run.trace
        path = new_folder(trace) / "checkpoint"
        parts = parts_of(training)
        checkpoint = Checkpoint(path, {name: part.read() for name, part in parts.items()},
                                {name: part.print() for name, part in parts.items()})  # fmt: skip
        stepper: Any = getattr(self._run, "stepper", None)
        checkpoint.epoch = list(stepper._scheduler_steps._losses)
        checkpoint.scaler = None if stepper.scaler is None else stepper.scaler.state_dict()
        keep(checkpoint, trace)
        try:
            save_to(path, training.save, training.load)
        except NotKept as error:
            trace.cut_short = str(error)
            return
        except Exception as error:
            raised = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            trace.state.failure = f"{words_of_save(training.save)} raises {raised}"
            return
        self._checkpoint, trace.state.checkpoint = checkpoint, str(path)
