"""Looks at the user's tensors without being seen, and without an error of ours ever reaching the user's code.

There are tensors that nobody can read like others: without values, with values elsewhere, of classes that know a few
functions only. Whoever listens and cannot read what it is given is not told anything any more, and the trace says so:
what was not read has shown nothing.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ...tensors.aside import Aside
from ...tensors.function_modes import inside_transform

if TYPE_CHECKING:
    from .events import Listener
    from .run import Run


class Reading:
    """A context for one look of a listener."""

    __slots__ = ("_aside", "_listener", "_run")

    def __init__(self, run: Run, listener: Listener) -> None:
        self._run, self._listener, self._aside = run, listener, Aside()

    def __enter__(self) -> None:
        self._aside.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._aside.__exit__(kind, error, traceback)
        if not isinstance(error, Exception):
            return False
        # inside a transform a tensor stands for many: the same call is read elsewhere, or by nobody
        if not inside_transform():
            self._run.could_not_read(self._listener, error)
        return True
