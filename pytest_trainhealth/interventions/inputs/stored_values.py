"""Keeps stored values as they were: restores the user's dataset after each reading, and modules after each step.

Batches of a user-written loader are copied instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.signals.data.kept_tensors import kept_by
from ...observe.signals.data.stored_data import Stored, dataset_of, stored_in
from ...tensors.batches import map_tensors
from ...tensors.module_paths import full_path


class StoredValues(Listener):
    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str] = (), copies: bool = False) -> None:
        self._run, self._names = run, set(names)
        if copies:
            run.batch_changes.append(lambda batch: map_tensors(lambda _, tensor: tensor.clone(), batch))
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}
        dataset = dataset_of(run.feed.source) if run.feed is not None and not names else None
        if dataset is not None:
            _read_only(dataset, stored_in(dataset), stack)

    def step_begins(self, batch: object) -> None:
        for prefix, model in self._run.models.items():
            for name, tensor in kept_by(model):
                full = full_path(prefix, name)
                if full in self._names and full not in self._kept:
                    self._kept[full] = (tensor, tensor.detach().clone())
        with torch.no_grad():
            for tensor, value in self._kept.values():
                tensor.copy_(value)


def _read_only(dataset: Any, stored: list[Stored], stack: ExitStack) -> None:
    """Makes the dataset hand out copies, and undoes what reading has written."""
    kind = type(dataset)
    original = kind.__getitem__

    def read(self: Any, index: Any) -> Any:
        sample = original(self, index)
        if self is dataset:
            sample = map_tensors(lambda _, tensor: tensor.clone(), _copied(sample))
            for each in stored:
                each.put_back()
        return sample

    kind.__getitem__ = read
    stack.callback(setattr, kind, "__getitem__", original)


def _copied(sample: Any) -> Any:
    if hasattr(sample, "dtype") and hasattr(sample, "copy") and not isinstance(sample, Tensor):
        return sample.copy()
    if type(sample) in (tuple, list):
        return type(sample)(_copied(each) for each in sample)
    return {key: _copied(each) for key, each in sample.items()} if type(sample) is dict else sample
