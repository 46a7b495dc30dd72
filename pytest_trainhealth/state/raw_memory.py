"""Memory that is not made of Python's objects: `mmap` and `ctypes`."""

from __future__ import annotations

import ctypes
import mmap
import zlib
from typing import Any

from .values import Undo

C_DATA: tuple[Any, ...] = (ctypes.Array, ctypes.Structure, ctypes.Union, ctypes.c_int.__bases__[0])
#: Bytes, 256 MB: more of a file in memory is not copied, only compared. By judgement: larger ones are data sets.
_MOST = 2**28


def c_data_undo(data: Any) -> Undo:
    content = bytes(memoryview(data).cast("B")) if ctypes.sizeof(data) else b""
    return lambda: _discard(ctypes.memmove(ctypes.addressof(data), content, len(content)))


def mapped_undo(mapped: mmap.mmap) -> Undo | None:
    """None if it is closed."""
    try:
        position, size = mapped.tell(), len(mapped)
    except ValueError:
        return None
    with memoryview(mapped) as view:
        content = None if view.readonly or size > _MOST else bytes(view)
        checksum = None if view.readonly or content is not None else zlib.crc32(view)

    def undo() -> None:
        mapped.seek(position)
        if content is not None:
            mapped[:] = content
        elif checksum is not None and zlib.crc32(mapped) != checksum:
            raise RuntimeError("too large to be remembered, and has been written to")

    return undo


def _discard(_: Any) -> None:
    return None
