"""Which torch functions run inside the model; at step 0."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ....tensors.module_paths import full_path
from ...calls.grad_reads import reader
from ...calls.torch_calls import CallSignal
from ...run.run import Run
from ...run.signal import Cost

#: The package's own folder.
_OURS = f"{Path(__file__).parents[3]}{os.sep}"


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
        if module in self._paths and name not in self._run.trace.numbers.operations and not _by_a_hook_of_ours():
            self._run.trace.numbers.operations.add(name)


def _by_a_hook_of_ours() -> bool:
    """Other signals read what modules are given, by hooks that run while the module does."""
    caller = reader()
    return caller is not None and caller.f_code.co_filename.startswith(_OURS)
