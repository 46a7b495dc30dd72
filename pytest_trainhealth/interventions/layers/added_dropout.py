"""Dropout behind every activation function that is a layer, while its model is in training mode."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...observe.run.events import Listener
from ...observe.run.run import Run

_ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.ELU, nn.Tanh, nn.Sigmoid, nn.Mish, nn.Softplus, nn.ReLU6)


class AddedDropout(Listener):
    def __init__(self, run: Run, stack: ExitStack, share: float) -> None:
        self._run, self._stack, self._share = run, stack, share
        run.trace.applied.without_effect.append("added_dropout")

    def run_begins(self) -> None:
        applied = self._run.trace.applied.without_effect
        for _, module in self._run.named_modules():
            if isinstance(module, _ACTIVATIONS) and not isinstance(module, torch.jit.ScriptModule):
                self._stack.callback(module.register_forward_hook(self._dropped).remove)
                if "added_dropout" in applied:
                    applied.remove("added_dropout")

    def _dropped(self, module: nn.Module, args: Any, output: Any) -> Any:
        on = isinstance(output, Tensor) and module.training
        return F.dropout(output, self._share, training=True) if on else output
