"""Reinitialises weights, scaled layer by layer so that each has outputs of unit variance on the first batch it sees.

Works for any activation function, because the scale is measured rather than taken from a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import Watching, before_call
from ...tensors.module_paths import full_path


class Reinitialise(Listener):
    """`names`: parameters that start badly; modules of any kind that hold them are reinitialised, too."""

    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str] = ()) -> None:
        self._run, self._stack = run, stack
        self._names = set(names)
        self._handles: dict[int, Watching] = {}
        self._models: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for prefix, model in self._run.models.items():
            if id(model) not in self._models:
                self._models.add(id(model))
                if self._names:
                    self._reset(prefix, model)
                for module in model.modules():
                    self._draw(module)

    def _reset(self, prefix: str, model: nn.Module) -> None:
        """Code that sets one parameter badly sets others, too: embeddings and normalisations get their defaults."""
        for path, module in model.named_modules():
            own = list(module.named_parameters(recurse=False))
            if not own or not any(p.requires_grad for _, p in own) or _is_parametrised(module):
                continue
            reset = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
            if callable(reset) and type(module).__module__.startswith("torch."):
                reset()
                if isinstance(module, nn.Embedding) and full_path(prefix, path, "weight") in self._names:
                    # its own spread of 1 fits a table; a weight of an output layer needs that of a layer
                    nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
                continue
            for name, parameter in own:
                if full_path(prefix, path, name) in self._names and parameter.ndim > 1:
                    nn.init.xavier_normal_(parameter)

    def _draw(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, _ConvNd)) and module.weight.requires_grad:
            with torch.no_grad():
                if not _is_parametrised(module):
                    nn.init.kaiming_normal_(module.weight, a=math.sqrt(5))
                    if module.bias is not None:
                        module.bias.zero_()
                    handle = before_call(self._scale, module)
                    self._handles[id(module)] = handle
                    self._stack.callback(handle.remove)
        elif isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
            module.reset_parameters()
            _keep_the_length_of_states(module)

    def _scale(self, module: nn.Module, inputs: Any) -> None:
        """Runs once, before the module's first forward pass."""
        self._handles.pop(id(module)).remove()
        with torch.no_grad():
            spread = float(module.forward(*inputs).float().std(correction=0))
            if math.isfinite(spread) and spread > 0:
                assert isinstance(module.weight, torch.Tensor)
                module.weight.data.div_(spread)


def _keep_the_length_of_states(module: nn.Module) -> None:
    """Recurrent weights with a spectral radius of 1, gate by gate: torch's own let a state fade within some steps."""
    for name, weight in module.named_parameters(recurse=False):
        if name.startswith("weight_hh"):
            for gate in torch.split(weight.detach(), weight.shape[1]):
                nn.init.orthogonal_(gate)


def _is_parametrised(module: nn.Module) -> bool:
    return hasattr(module, "parametrizations") or hasattr(module, "weight_g")
