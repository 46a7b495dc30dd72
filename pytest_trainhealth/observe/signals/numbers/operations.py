"""Which torch functions run inside the model; at step 0."""

from __future__ import annotations

from typing import Any

from ....tensors.module_paths import full_path
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost


class Operations(CallSignal):
    NAME, COST = "operations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._paths: set[str] = set()

    def wanted(self) -> bool:
        return self._run.step == 0

    def step_begins(self, batch: object) -> None:
        if self.wanted():  # a criterion is a module, too, but not part of the model
            for prefix, model in self._run.models.items():
                paths = (full_path(prefix, path) for path, _ in model.named_modules())
                self._paths.update(path or type(model).__name__ for path in paths)
        super().step_begins(batch)

    def seen(self, name: str, args: tuple[Any, ...], result: Any, module: str) -> None:
        if module in self._paths:
            self._run.trace.numbers.operations.add(name)
