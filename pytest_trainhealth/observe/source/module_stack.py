"""Which module is running? Tracked by global forward hooks, only while something needs to know."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ...tensors.module_paths import full_path
from .engine_frames import is_engine_frame
from .module_calls import after_call, before_call


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
        before = before_call(self._enter)
        after = after_call(self._leave, always_call=True)
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


class ModuleHistory(ModuleStack):
    """Also remembers which operations ran in which module, by the numbers that autograd gives them.

    A line is not enough: `torch.log(model(x))` is one line, and only part of it is in the model.
    """

    def __init__(self, models: Mapping[str, nn.Module]) -> None:
        super().__init__(models)
        #: First number of each running module, innermost last; and those that have ended: path, first, end.
        self._first: list[int] = []
        self._ended: list[tuple[str, int, int]] = []

    def at(self, number: int) -> str:
        """Path of the innermost module that was running when autograd gave this number; '' outside of all."""
        found = [(first, path) for path, first, end in self._ended if first <= number < end]
        running = [(first, path) for path, first in zip(self._stack, self._first, strict=True) if first <= number]
        # an outer module may begin with the same number as an inner one: inner ones end first, and stand first here
        return max([*found, *reversed(running)], key=lambda each: each[0], default=(0, ""))[1]

    @property
    def any_ran(self) -> bool:
        """Whether a module was called at all so far."""
        return bool(self._ended or self._stack)

    def owner_of_this_line(self) -> str:
        """The module of the model in whose method the user's code is right now, if one was not called as a module."""
        frame = sys._getframe(1)
        while frame is not None and not is_engine_frame(frame):
            path = self._paths.get(id(frame.f_locals.get("self")))
            if path is not None:
                return path
            frame = frame.f_back  # type: ignore[assignment]
        return ""

    def _enter(self, module: nn.Module, inputs: Any) -> None:
        super()._enter(module, inputs)
        self._first.append(torch._C._autograd._get_sequence_nr())

    def _leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._stack:
            end = torch._C._autograd._get_sequence_nr()
            self._ended.append((self._stack[-1], self._first.pop(), end))
        super()._leave(module, inputs, output)
