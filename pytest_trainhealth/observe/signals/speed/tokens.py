"""How much data a step learns from: its samples, and its tokens, which are integer ids of shape (N, T) that go into an
embedding or into the model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....tensors.batches import batch_size, tensors
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching


class Tokens(Signal):
    """The first step shows which field of the batch holds the tokens; afterwards they are only counted."""

    NAME, COST = "tokens", Cost.SPEED

    def __init__(self, run: Run) -> None:
        self._run = run
        self._handles: list[Watching] = []
        self._batch: dict[str, tuple[int, ...]] = {}
        self._field: str | None = None

    def step_begins(self, batch: object) -> None:
        samples = None if self._run.feed is None else batch_size(batch)  # loaders of a watched test count them
        if samples is not None:
            self._run.trace.speed.samples.append(samples)
        if self._run.step == 0:
            self._batch = {name: tuple(t.shape) for name, t in tensors(batch) if _are_ids(t)}
            if self._batch:
                self._hook(list(self._run.models.values()))
        elif self._field is not None:
            self._count(batch)

    def _hook(self, models: list[nn.Module]) -> None:
        modules = [module for model in models for module in model.modules()]
        if any(type(module).__name__ == "OptimizedModule" for module in modules):
            # a hook, even for one step, would make the compiler compile the model again
            if any(isinstance(module, nn.Embedding) for module in modules):
                self._field = next(iter(self._batch))
            return
        looked_at = [module for module in modules if isinstance(module, nn.Embedding) or module in models]
        self._handles = [self._before_call(self._given, module, with_kwargs=True) for module in looked_at]

    def _given(self, module: nn.Module, args: Any, kwargs: Any = None) -> None:
        """Called without keywords if the call began a new step of a watched test: this hook was just removed."""
        if self._field is None:
            shapes = [tuple(t.shape) for _, t in tensors((args, kwargs)) if _are_ids(t)]
            self._field = next((name for name, own in self._batch.items() if any(_fit(own, s) for s in shapes)), None)

    def step_ends(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    run_ends = step_ends

    def _count(self, batch: object) -> None:
        found = next((t.numel() for name, t in tensors(batch) if name == self._field), None)
        if found is not None:
            self._run.trace.speed.tokens.append(found)


def _fit(batch: tuple[int, ...], given: tuple[int, ...]) -> bool:
    """The same shape, except for the last token, which a language model only predicts."""
    return batch[0] == given[0] and 0 <= batch[1] - given[1] <= 1


def _are_ids(tensor: Tensor) -> bool:
    return tensor.ndim == 2 and tensor.shape[1] > 1 and tensor.dtype in (torch.int64, torch.int32)
