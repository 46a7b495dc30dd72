"""A model that runs with gradients enabled runs in training mode; its parts get the modes they had there before.

`parts`: those of models in training mode that are in eval mode themselves, and are to follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from ...observe.run.events import Listener
from ...observe.run.run import Run
from ...observe.source.module_calls import before_call
from ...tensors.module_paths import full_path


class TrainMode(Listener):
    def __init__(self, run: Run, stack: ExitStack, parts: Sequence[str] = ()) -> None:
        self._run, self._stack, self._parts = run, stack, parts
        self._met: set[int] = set()
        self._modes: dict[int, dict[nn.Module, bool]] = {}

    def run_begins(self) -> None:
        self._meet_models()

    def step_begins(self, batch: object) -> None:
        self._meet_models()

    def _meet_models(self) -> None:
        for prefix, model in self._run.models.items():
            if id(model) not in self._met:
                self._met.add(id(model))
                for each in model.modules():  # parts may be called on their own
                    handle = before_call(self._hook(prefix, model), each)
                    self._stack.callback(handle.remove)
            self._put_right(prefix, model)

    def _hook(self, prefix: str, model: nn.Module) -> Any:
        def called(module: nn.Module, inputs: Any) -> None:
            if torch.is_grad_enabled():
                self._put_right(prefix, model)

        return called

    def _put_right(self, prefix: str, model: nn.Module) -> None:
        for path, part in model.named_modules() if self._parts and model.training else ():
            if full_path(prefix, path) in self._parts and not part.training:
                part.train()
        if model.training:
            if id(model) not in self._modes:
                self._modes[id(model)] = {module: module.training for module in model.modules()}
            return
        model.train()
        for module, mode in self._modes.get(id(model), {}).items():
            module.training = mode
