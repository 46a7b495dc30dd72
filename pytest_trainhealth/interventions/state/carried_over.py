"""Parts of the state are brought into a run that is resumed, whatever its checkpoint holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from ...observe.run.events import Listener
from ...observe.run.run import Run


class CarriedOver(Listener):
    """Says so only: `resumed`, which comes after it, reads it."""

    def __init__(self, run: Run, stack: ExitStack, names: Sequence[str]) -> None:
        run.trace.applied.carried_over.extend(names)
