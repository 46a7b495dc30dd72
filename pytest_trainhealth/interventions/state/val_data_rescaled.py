"""What the models are given from `val_data` is brought to the scale, or into the order, of that from `data`."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.events import Listener
from ...observe.run.run import Run


class ValDataRescaled(Listener):
    """Says so only: the signal that evaluates does it."""

    def __init__(self, run: Run, stack: ExitStack, how: str) -> None:
        run.trace.applied.validated = how
