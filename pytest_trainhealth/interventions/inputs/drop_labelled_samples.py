"""Leaves samples out of every batch whose label the loss function does not allow."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.signals.data.field_roles import GivenTarget
from ...tensors.batches import batch_size, map_tensors, tensors


class DropLabelledSamples(Listener):
    """`name`: the field of the labels. `function`, `classes`: the loss function that gets them, and its classes."""

    def __init__(self, run: Run, stack: ExitStack, name: str, function: str, classes: int | None = None) -> None:
        self._name, self._rule = name, GivenTarget(function, torch.zeros(0, device="cpu"), classes)
        run.batch_changes.append(self._without)

    def _without(self, batch: Any) -> Any:
        size, labels = batch_size(batch), dict(tensors(batch)).get(self._name)
        if not size or labels is None or not labels.ndim or labels.shape[0] != size:
            return batch
        good = ~self._rule.outside(labels).reshape(size, -1).any(1)
        if bool(good.all()) or not bool(good.any()):
            return batch
        return map_tensors(lambda _, t: t[good] if t.ndim and t.shape[0] == size else t, batch)
