"""How an intervention gets to work on a run: cures and conditions are hooks of one shape, found by their file's name.

Each file offers ``listener(run, stack, **options)``: an object with methods for the run's events. What it changes
outside of the run's own objects it undoes through the `ExitStack`; the run's objects are rebuilt or restored anyway.
"""

from __future__ import annotations

import functools
from contextlib import ExitStack
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from . import conditions, cures
from .records.intervention import Condition, Cure

if TYPE_CHECKING:
    from .observe.run import Run


def install(intervention: Cure | Condition, run: Run, stack: ExitStack) -> object:
    listener: object = import_module(_homes()[intervention.kind]).listener(run, stack, **intervention.options)
    return listener


@functools.cache
def _homes() -> dict[str, str]:
    """The modules by their kind: a learning rate, say, is changed by the same file for either reason."""
    return {
        found.name: f"{package.__name__}.{found.name}"
        for package in (cures, conditions)
        for found in iter_modules(package.__path__)
    }
