"""Modules that run without a graph, next to layers that learn from something else: they only supply features.

If all that is trained works on the output of such a module, then `no_grad()` may have been left around it by mistake.
Looked for only where a module ran without a graph.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from ....tensors.function_modes import FunctionMode
from ...calls.graph_leaves import tensors_in
from ...run.run import Run
from ...run.signal import Cost, Signal

#: The step that is examined. By judgement: the second, when the first has shown which modules run without a graph.
_STEP = 1


class FeatureBranches(Signal):
    NAME, COST = "feature_branches", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open = ExitStack()
        self._blind: list[str] = []
        #: What was computed from features, kept so that no other tensor gets the same id; modules that got none of it.
        self._features: dict[int, Tensor] = {}
        self._paths: dict[int, str] = {}
        self._without: set[str] = set()

    def step_begins(self, batch: object) -> None:
        if self._run.step != _STEP:
            return
        modules = self._run.trace.wiring.modules
        self._blind = [path for path, record in modules.items() if record.calls and not record.grad_enabled]
        if self._blind:
            self._paths = {id(module): path for path, module in self._run.named_modules()}
            self._open.callback(self._after_call(self._ran).remove)
            self._open.enter_context(_Mode(self, self._features))

    def step_ends(self) -> None:
        if self._blind:
            learning = {p.module for p in self._run.trace.trainable if p.has_gradient and not self._is_around(p.module)}
            for path in self._blind if learning & self._without else ():
                self._run.trace.wiring.modules[path].branch = True
        self.run_ends()

    def run_ends(self) -> None:
        self._open.close()
        self._features.clear()
        self._blind = []

    def _is_around(self, path: str) -> bool:
        """A module that contains the branch reads the input for it, and may use its own parameters behind it."""
        return not path or any(blind.startswith(f"{path}.") for blind in self._blind)

    def _ran(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if not torch.is_grad_enabled():
            self._features.update((id(tensor), tensor) for tensor in tensors_in(output))
            return
        given, path = tensors_in(inputs), self._paths.get(id(module))
        if path is not None and given and not any(id(tensor) in self._features for tensor in given):
            self._without.add(path)


class _Mode(FunctionMode):
    """Whatever is computed from features is one itself."""

    def __init__(self, signal: FeatureBranches, features: dict[int, Tensor]) -> None:
        super().__init__()
        self._signal, self._features = signal, features

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        with self._signal._reading():
            if any(id(tensor) in self._features for tensor in tensors_in((args, kwargs or {}))):
                self._features.update((id(tensor), tensor) for tensor in tensors_in(result))
        return result
