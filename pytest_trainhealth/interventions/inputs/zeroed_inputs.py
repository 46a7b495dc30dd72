"""The control experiment: the model sees nothing but zeros, while the loss still sees the real targets.

Done where the model is called, not in the batch, because an autoencoder's inputs are its targets too.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import before_call
from ...tensors.batches import is_input_name, map_tensors


class ZeroedInputs(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._called = False
        for model in run.models.values():
            handle = before_call(self._zero, model, with_kwargs=True)
            stack.callback(handle.remove)

    def _zero(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        self._called = True
        zeroed = {k: map_tensors(_zeros, v) if is_input_name(k) else v for k, v in kwargs.items()}
        return map_tensors(_zeros, args), zeroed

    def run_ends(self) -> None:
        if not self._called:
            self._run.trace.applied.without_effect.append("zeroed_inputs")


def _zeros(name: str, tensor: Tensor) -> Tensor:
    if tensor.dtype == torch.bool or not is_input_name(name):
        return tensor
    return torch.zeros_like(tensor, requires_grad=tensor.requires_grad)
