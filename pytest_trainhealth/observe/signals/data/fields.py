"""What a batch holds: shape, type, range, and values that are not finite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ....records.data import FieldRecord
from ....tensors.batches import tensors
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.module_calls import Watching


def describe(batch: Any) -> list[FieldRecord]:
    return [_field(f"batch{name}", tensor) for name, tensor in tensors(batch) if tensor.numel()]


def _field(name: str, tensor: Tensor) -> FieldRecord:
    values = tensor.detach()
    if values.layout != torch.strided:
        values = values.to_dense()
    if values.is_complex():
        values = values.abs()
    finite = torch.isfinite(values)
    bad = int((~finite).sum())
    kept = (values[finite] if bad else values).double()
    low, high = (float(kept.min()), float(kept.max())) if kept.numel() else (float("nan"), float("nan"))
    record = FieldRecord(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), low, high, nonfinite=bad)
    if kept.numel():
        record.mean, record.std = float(kept.mean()), float(kept.std(correction=0))
    if bad and values.ndim:
        record.bad_sample = int((~finite).nonzero()[0][0])
    return record


class Fields(Signal):
    """The first batch, and every later one that holds values that are not finite.

    In a watched test, the batch is what the first module of a step was called with; inputs of other modules are
    examined as well.
    """

    NAME, COST = "fields", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._handle: Watching | None = None

    def run_begins(self) -> None:
        if self._run.feed is None:
            self._handle = self._before_call(self._called)

    def run_ends(self) -> None:
        if self._handle is not None:
            self._handle.remove()

    def _called(self, module: nn.Module, inputs: Any) -> None:
        step, known = self._run.step, self._run.trace.data.fields
        if any(f.nonfinite for f in known.get(step, ())) or not torch.is_grad_enabled():
            return
        if next(module.parameters(), None) is None:
            return
        given = [(name, t) for name, t in tensors(inputs) if _may_be_bad(t) and not t.requires_grad and t.numel()]
        if any(not bool(torch.isfinite(t).all()) for _, t in given):
            known[step] = [
                *known.get(step, ()),
                *(_field(f"the input{name} of {type(module).__name__}", t) for name, t in given),
            ]

    def step_begins(self, batch: Any) -> None:
        trace = self._run.trace
        if self._run.step == 0 or any(not bool(torch.isfinite(t).all()) for _, t in tensors(batch) if _may_be_bad(t)):
            trace.data.fields[self._run.step] = describe(batch)


def _may_be_bad(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.layout == torch.strided
