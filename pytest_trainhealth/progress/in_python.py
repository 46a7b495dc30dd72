"""Shows how far `diagnose()` has come: on a terminal in one line of the standard error, in a notebook under its cell.

Anywhere else (a script whose output goes to a file, a test that captures it) nothing is shown: nobody is watching.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, TextIO

from .progress import Show
from .standing import Standing, line

#: Seconds. By judgement: what takes less is over before it is read, and more often than twice a second nobody looks.
AFTER, EVERY = 2.0, 0.5
#: Back to the start of the line, and clear it.
_ANEW = "\r\x1b[2K"


def show_in_python() -> Show | None:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and hasattr(shell, "kernel"):
        return NotebookCell()
    stream = sys.stderr
    if stream is None or not hasattr(stream, "isatty") or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return ErrorLine(stream)


class ErrorLine:
    after, every = AFTER, EVERY

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._shown = stream, False

    def tell(self, standing: Standing) -> None:
        width = shutil.get_terminal_size((80, 24)).columns - 1
        self._stream.write(f"{_ANEW}{line(standing, width)}")
        self._stream.flush()
        self._shown = True

    def over(self) -> None:
        if self._shown:
            self._stream.write(_ANEW)
            self._stream.flush()
            self._shown = False


class NotebookCell:
    """One output of the cell, updated in place, and empty in the end."""

    after, every = AFTER, EVERY

    def __init__(self) -> None:
        self._handle: Any = None

    def tell(self, standing: Standing) -> None:
        self._put(line(standing))

    def over(self) -> None:
        if self._handle is not None:
            self._put("")

    def _put(self, text: str) -> None:
        content = {"text/plain": text}
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
