"""One file per kind of intervention. Cures are hooks, not edits, so they work on any loop.

Each file offers ``listener(run, stack, **options)``: an object with methods for the run's events. What it changes
outside of the run's own objects it undoes through the `ExitStack`; the run's objects are rebuilt or restored anyway.
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from ..records.intervention import Cure

if TYPE_CHECKING:
    from ..observe.run import Run


def install(cure: Cure, run: Run, stack: ExitStack) -> object:
    module = import_module(f".{cure.kind}", __name__)
    listener: object = module.listener(run, stack, **cure.options)
    return listener
