"""What two runs in different precisions are compared by: layers and gradients of the first step, and moves of weights.

Of each tensor a few values are kept, at the same places in both runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ....records.state import LayerSketch, PrecisionRecord, Sketch
from ....tensors.batches import tensors
from ...run.run import Run
from ...run.signal import Cost, Signal

#: Values kept of a tensor. By judgement: 128 show a direction, and a hundred layers with as many take 100 kB.
_VALUES = 128
#: Most calls of layers that are kept. By judgement: 400, more than a step of anything that fits on a laptop has.
_MOST = 400
#: The step whose gradients are kept as well, after zero-initialised parts have moved. By judgement: 2.
_LATER = 2
#: Updates in which moves are counted. By judgement: as many as the check takes as a rule; later on, in a training that
#: has arrived, updates are small and may well be lost.
_COUNTED = 40
_HALVES = (torch.float16, torch.bfloat16)


class Sketches(Signal):
    NAME, COST = "sketches", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._handles: list[Any] = []
        self._before: dict[str, Tensor] = {}
        self._seen = False
        self._record = run.trace.state.precision = PrecisionRecord()
        # before any cure has changed them
        self._record.was_half = any(p.dtype in _HALVES for p in run.parameters.values())

    def step_begins(self, batch: object) -> None:
        if self._run.step or self._handles:
            return
        half = [name for name, p in self._run.parameters.items() if p.dtype in _HALVES]
        self._record.half_weights = half
        own = getattr(self._run.training, "precision", None)
        self._record.own = str(own).removeprefix("torch.") if own in _HALVES else ""
        for name, module in self._run.named_modules():
            if not any(True for _ in module.children()):
                hook = self._after_call(
                    lambda module, given, output, name=name: self._layer(name, module, output), module
                )
                self._handles.append(hook)

    def _layer(self, name: str, module: nn.Module, output: Any) -> None:
        found = next((t for _, t in tensors(output) if t.is_floating_point()), None)
        if found is None or len(self._record.layers) >= _MOST or not torch.is_grad_enabled():
            return
        try:
            values = _sketch(found)
        except RuntimeError:  # inside torch.func, tensors have no values of their own
            return
        dtype = str(found.dtype).removeprefix("torch.")
        self._record.layers.append(LayerSketch(name, type(module).__name__, dtype, values))
        if found.dtype in _HALVES and not self._record.own:
            self._record.own = dtype

    def backward_ends(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def update_begins(self, optimizer: Optimizer, has_closure: bool) -> None:
        kept = self._record.gradients if self._run.step == 0 else self._record.later
        if self._run.step in (0, _LATER) and not kept:
            for name, p in self._run.parameters.items():
                if p.grad is not None and p.grad.layout is torch.strided:
                    kept[name] = Sketch(float(p.grad.double().norm()), _sketch(p.grad))
        if self._run.step < _COUNTED:
            self._before = {n: p.detach().clone() for n, p in self._run.parameters.items() if p.dtype in _HALVES}

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        """Of the values with a gradient, how many the update left where they were."""
        for name, before in self._before.items():
            parameter = self._run.parameters[name]
            if parameter.grad is not None and parameter.grad.layout is torch.strided and parameter.dtype in _HALVES:
                pulled = parameter.grad != 0
                held, moved = self._record.moves.get(name, (0, 0))
                still = int(((parameter.detach() == before) & pulled).sum())
                self._record.moves[name] = held + still, moved + int(pulled.sum()) - still
        self._before = {}

    def run_ends(self) -> None:
        self.backward_ends()


@torch.no_grad()
def _sketch(tensor: Tensor) -> tuple[float, ...]:
    flat = tensor.detach().flatten()
    if flat.is_complex():
        flat = torch.view_as_real(flat).flatten()
    step = max(1, flat.numel() // _VALUES)
    return tuple(float(value) for value in flat[::step][:_VALUES].double().cpu().tolist())
