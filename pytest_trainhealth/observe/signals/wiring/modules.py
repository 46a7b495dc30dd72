"""Which modules ran, and whether torch recorded a graph for them. They are hooked only at the first steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ....records.wiring import ModuleRecord
from ....tensors.module_paths import full_path
from ...run.run import Run
from ...run.signal import Cost, Signal
from ...source.authorship import made_by
from ...source.module_calls import Watching
from ...source.no_grad_lines import switched_off_at
from ...source.places import user_place

#: Steps at which every module is examined. By judgement: 3, as the first two may be special cases.
_STEPS = 3


class Modules(Signal):
    NAME, COST = "modules", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        self._run = run
        self._handle: Watching | None = None
        self._paths: dict[int, str] = {}

    def step_begins(self, batch: object) -> None:
        if self._run.step < _STEPS:
            self._name_modules()  # again, as the first forward pass may make some
        if self._run.step < _STEPS or self._run.sampled:
            self._handle = self._after_call(self._ran)

    def step_ends(self) -> None:
        self.run_ends()

    def run_ends(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _name_modules(self) -> None:
        for prefix, model in self._run.models.items():
            modules = dict(model.named_modules())
            for path, module in modules.items():
                full = full_path(prefix, path)
                if full not in self._run.trace.wiring.modules:
                    record = ModuleRecord(full, type(module).__name__, made_by(path, modules))
                    self._run.trace.wiring.modules[full] = record
                self._paths[id(module)] = full

    def _ran(self, module: nn.Module, inputs: Any, output: Any) -> None:
        path = self._paths.get(id(module))
        if path is None:
            return
        record = self._run.trace.wiring.modules[path]
        enabled = torch.is_grad_enabled()
        record.grad_enabled = enabled or (record.calls > 0 and record.grad_enabled)
        record.calls += 1
        if not enabled and record.no_grad_at is None:
            record.no_grad_at = switched_off_at(user_place())
        if isinstance(module, nn.MultiheadAttention):
            self._ran(module.out_proj, inputs, output)  # it is used without being called
        elif "_torch_params" in module._modules:  # TorchScript's have no get()
            kept = module._modules["_torch_params"]
            if isinstance(kept, nn.ParameterDict):
                self._ran(kept, inputs, output)  # where a layer of Keras has its parameters
