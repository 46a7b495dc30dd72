"""Weights as torch itself would draw them: what the layers' own `reset_parameters()` gives, before the first step.

Only layers that learn; frozen ones may carry what was learnt elsewhere. Parameters outside torch's layers have no
default, and stay as they are.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import nn

from ...observe.run.events import Listener
from ...observe.run.run import Run


class DefaultInitialisation(Listener):
    def __init__(self, run: Run, stack: ExitStack) -> None:
        self._run = run
        self._models: set[int] = set()

    def run_begins(self) -> None:
        self.step_begins(None)

    def step_begins(self, batch: object) -> None:
        for model in self._run.models.values():
            if id(model) not in self._models:
                self._models.add(id(model))
                reset(model)


def reset(model: nn.Module) -> None:
    shared = _seen_twice(model)
    for module in model.modules():
        own = list(module.parameters(recurse=False))
        parametrised = hasattr(module, "parametrizations") or hasattr(module, "weight_g")
        if not own or parametrised or not all(p.requires_grad for p in own) or any(id(p) in shared for p in own):
            continue
        if type(module).__module__.startswith("torch."):
            again: Any = getattr(module, "reset_parameters", None) or getattr(module, "_reset_parameters", None)
            if callable(again):
                again()


def _seen_twice(model: nn.Module) -> set[int]:
    """Tied weights: the default of one of the two layers is far too large for the other (an embedding's is 1)."""
    seen: set[int] = set()
    twice: set[int] = set()
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            (twice if id(parameter) in seen else seen).add(id(parameter))
    return twice
