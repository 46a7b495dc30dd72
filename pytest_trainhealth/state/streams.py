"""Files and streams: where they are read, and what is in those that are kept in memory.

What is only written or appended, such as a log, stays written: no run depends on it. A file that is written and read as
well is named once it has been written to.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import Any

from .values import Undo


def stream_undo(stream: io.IOBase) -> Undo | None:
    """None if there is nothing to put back."""
    if stream.closed:
        return None
    if isinstance(stream, (io.StringIO, io.BytesIO)):
        return _in_memory(stream)
    if not stream.readable() or not stream.seekable() or "a" in str(getattr(stream, "mode", "")):
        return None
    try:
        position = stream.tell()
    except OSError:  # somebody goes through its lines: it does not tell
        return _cannot_tell
    before = _written(stream) if stream.writable() else None

    def undo() -> None:
        stream.seek(position)
        if before is not None and _written(stream) != before:
            raise RuntimeError("the file has been written to")

    return undo


def _in_memory(stream: Any) -> Undo:
    content, position = stream.getvalue(), stream.tell()

    def undo() -> None:
        if stream.getvalue() != content:
            stream.seek(0)
            stream.truncate()
            stream.write(content)
        stream.seek(position)

    return undo


def _cannot_tell() -> None:
    raise RuntimeError("a file that is being read line by line")


def _written(stream: io.IOBase) -> tuple[int, int] | None:
    """Size and time of the last change; None without a file."""
    with suppress(OSError):
        stream.flush()
        known = os.fstat(stream.fileno())
        return known.st_size, known.st_mtime_ns
    return None
