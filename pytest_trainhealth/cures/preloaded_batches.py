"""The same batches, loaded before the clock starts."""

from __future__ import annotations

from contextlib import ExitStack

from ..observe.run import Run


class listener:
    def __init__(self, run: Run, stack: ExitStack, count: int) -> None:
        self._run, self._count = run, count

    def run_begins(self) -> None:
        self._run.feed.preload(self._count)
