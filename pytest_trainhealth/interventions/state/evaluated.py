"""A run is evaluated in another way than its own: not at all, in eval mode, or with everything put back afterwards."""

from __future__ import annotations

from contextlib import ExitStack

from ...observe.run.events import Listener
from ...observe.run.run import Run


class Evaluated(Listener):
    """Says so only: the signal that evaluates reads it."""

    def __init__(self, run: Run, stack: ExitStack, how: str) -> None:
        run.trace.applied.evaluated = how
