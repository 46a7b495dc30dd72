"""Which module is running? Tracked by global forward hooks, only while something needs to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from ...tensors.module_paths import full_path


class ModuleStack:
    def __init__(self, models: Mapping[str, nn.Module]) -> None:
        self._paths = {
            id(module): full_path(prefix, path) or type(model).__name__
            for prefix, model in models.items()
            for path, module in model.named_modules()
        }
        self._stack: list[str] = []

    @property
    def current(self) -> str:
        """Path of the innermost module that is running; '' outside the model."""
        return self._stack[-1] if self._stack else ""

    @contextmanager
    def kept(self) -> Iterator[ModuleStack]:
        before = register_module_forward_pre_hook(self._enter)
        after = register_module_forward_hook(self._leave, always_call=True)
        try:
            yield self
        finally:
            before.remove()
            after.remove()
            self._stack.clear()

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        self._stack.append(self._paths.get(id(module), type(module).__name__))

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._stack:
            self._stack.pop()
