"""Leaves samples out of every batch that are in the validation data, too."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.signals.data.bounded_reading import Reading
from ...observe.signals.data.data_table import DataTable
from ...observe.signals.data.field_roles import FieldRoles
from ...observe.signals.data.sample_prints import are_among
from ...state.process import remember_random_numbers
from ...tensors.batches import batch_size, map_tensors


class DropSharedSamples(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._val: DataTable | None = None
        run.batch_changes.append(self._without)
        run.trace.applied.without_effect.append("drop_shared_samples")

    def run_begins(self) -> None:
        training = self._run.training
        if training is None or training.val_data is None:
            return
        put_back = remember_random_numbers()
        try:
            self._val = DataTable("val_data", FieldRoles())
            for batch in Reading(training.val_data, self._run.most_batches):
                self._val.add(batch)
        finally:
            put_back()

    def _without(self, batch: Any) -> Any:
        size, val = batch_size(batch), self._val
        if not size or val is None or val.uneven:
            return batch
        own = DataTable("data", FieldRoles())
        own.add(batch)
        names = [name for name in own.fields if name in val.fields]
        if own.uneven or not names or set(own.fields) != set(val.fields):
            return batch
        good = torch.from_numpy(~are_among(own.sample_prints(names), val.sample_prints(names)))
        applied = self._run.trace.applied.without_effect
        if bool(good.all()):
            return batch
        if "drop_shared_samples" in applied:
            applied.remove("drop_shared_samples")
        if not bool(good.any()):
            return batch
        return map_tensors(lambda _, t: t[good.to(t.device)] if t.ndim and t.shape[0] == size else t, batch)
