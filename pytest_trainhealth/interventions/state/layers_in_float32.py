"""Single layers compute in float32, whatever the precision around them is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...tensors.batches import map_tensors, tensors

_HALVES = (torch.float16, torch.bfloat16)


class LayersInFloat32(Listener):
    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str]) -> None:
        self._run, self._stack, self._names = run, stack, set(names)

    def step_begins(self, batch: object) -> None:
        for path, module in self._run.named_modules():
            if path in self._names:
                self._names.discard(path)
                self._stack.callback(module.__dict__.pop, "forward", None)
                module.__dict__["forward"] = _in_float32(module, module.forward)


def _in_float32(module: nn.Module, forward: Any) -> Any:
    held = any(p.dtype in _HALVES for p in module.parameters())

    def computed(*given: Any, **named: Any) -> Any:
        halves = {t.dtype for _, t in tensors((given, named)) if t.dtype in _HALVES}
        given, named = map_tensors(_whole, (given, named))
        device = next((t.device.type for _, t in tensors((given, named))), "cpu")
        with torch.autocast(device, enabled=False):
            if not held:
                return forward(*given, **named)
            weights = {name: _whole("", p) for name, p in module.named_parameters()}
            module.__dict__.pop("forward", None)  # the module's own, for as long as it takes
            try:
                output = functional_call(module, weights, given, named)
            finally:
                module.__dict__["forward"] = computed
        return map_tensors(lambda _, t: t.to(next(iter(halves))) if halves and t.is_floating_point() else t, output)

    return computed


def _whole(_: str, tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _HALVES else tensor
