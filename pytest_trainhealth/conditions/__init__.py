"""One file per thing about a run that can be other than usual: larger inputs, smaller batches, a lower precision.

Like cures they are hooks, not edits, and offer ``listener(run, stack, **options)``. Unlike cures they take nothing away
from a training: they are what it may meet one day, and it is judged as it is.
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from ..records.intervention import Condition

if TYPE_CHECKING:
    from ..observe.run import Run


def impose(condition: Condition, run: Run, stack: ExitStack) -> object:
    module = import_module(f".{condition.kind}", __name__)
    listener: object = module.listener(run, stack, **condition.options)
    return listener
