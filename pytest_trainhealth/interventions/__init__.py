"""One file per kind of intervention: a hook on the running training, never an edit of the user's code.

A *cure* removes a fault, to see whether the training is healthy without it. A *condition* removes nothing: larger
inputs, smaller batches or a lower precision are what a training may meet one day, and it is judged as it is. Both are
hooks, so they work with any loop, and the same file may serve both purposes.

A kind has the name of its file, whichever folder it is in: there is no list to edit. The file has a class of the same
name in CamelCase, created as ``ZeroGradients(run, stack, **options)``, which overrides the events that it needs
(observe/run/events.py). Changes outside the run's own objects have to be undone through the `ExitStack`; the run's
objects are rebuilt or restored anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import ExitStack
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

from ..records.intervention import Condition, Cure

if TYPE_CHECKING:
    from ..observe.run.events import Listener
    from ..observe.run.run import Run


def install(intervention: Cure | Condition, run: Run, stack: ExitStack) -> Listener:
    kind = intervention.kind
    listener: Listener = getattr(import_module(_homes()[kind]), class_name(kind))(run, stack, **intervention.options)
    return listener


def is_early(intervention: Cure | Condition) -> bool:
    """Whether it begins before the training is built (`EARLY` in its file)."""
    return bool(getattr(import_module(_homes()[intervention.kind]), "EARLY", False))


def held_still(interventions: Iterable[Cure | Condition]) -> str:
    """Labels of those that may let a training begin elsewhere than it does by itself (`HOLDS` in their files)."""
    holding = [each for each in interventions if getattr(import_module(_homes()[each.kind]), "HOLDS", False)]
    return ", ".join(each.label for each in holding)


def compiles(intervention: Cure | Condition) -> bool:
    """Whether compiling is what it does (`COMPILES` in its file)."""
    return bool(getattr(import_module(_homes()[intervention.kind]), "COMPILES", False))


def class_name(kind: str) -> str:
    """'ZeroGradients' for 'zero_gradients'."""
    return "".join(word.capitalize() for word in kind.split("_"))


@functools.cache
def _homes() -> dict[str, str]:
    """The modules by their kind, found by the names of their files."""
    found = (module for module in walk_packages(__path__, f"{__name__}.") if not module.ispkg)
    return {module.name.rpartition(".")[2]: module.name for module in found}
